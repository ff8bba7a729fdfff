"""A real browser: headless Chromium, controlled through the Chrome DevTools Protocol."""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs a browser: `apt-get install chromium` (the Debian package chromium)"
)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--remote-debugging-port=0",
)
MAX_MESSAGE = 1 << 28
START_TIMEOUT_S = 60
ANSWER_TIMEOUT_S = 60


class Page:
    """One page of a browser."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self._connection, self._numbers = connection, itertools.count(1)
        self.events: list[dict[str, Any]] = []
        """All events that the browser has sent."""

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        number = next(self._numbers)
        await self._connection.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = await self._next()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    async def _next(self) -> dict[str, Any]:
        message = await asyncio.wait_for(self._connection.read_message(), ANSWER_TIMEOUT_S)
        assert message is not None, "the browser has closed the connection"
        found: dict[str, Any] = json.loads(message)
        return found

    async def open(self, file: Path, width: int = 1600, dark: bool = False, scripts: bool = True) -> None:
        """Open a file, and wait until it is loaded."""
        for domain in ("Page", "Log", "Network", "Runtime"):
            await self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        await self.call("Page.navigate", url=file.absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(await self._next())

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def pdf(self) -> bytes:
        """Print the page."""
        printed = await self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    async def screenshot(self) -> bytes:
        """Return an image of the whole page, as PNG."""
        taken = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])

    def requests(self) -> list[str]:
        """Return the addresses that the page has requested."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def console_messages(self) -> list[dict[str, Any]]:
        """Return all messages in the console, and exceptions of scripts."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [event for event in self.events if event.get("method") in kinds]


@asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[Page]:
    """Start a browser with a new profile in a folder, and stop it afterwards."""
    assert CHROMIUM is not None
    profile = folder / "profile"
    process = subprocess.Popen(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        address = await asyncio.to_thread(_page_address, port)
        connection = await websocket_connect(address, max_message_size=MAX_MESSAGE)
        try:
            yield Page(connection)
        finally:
            connection.close()
            while await connection.read_message() is not None:  # until the browser has closed it, too
                pass
    finally:
        process.terminate()
        process.wait()


async def _port(file: Path) -> int:
    for _ in range(10 * START_TIMEOUT_S):
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        await asyncio.sleep(0.1)
    raise AssertionError("the browser did not start")


def _page_address(port: int) -> str:
    """Return the address of the protocol of the first page."""
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=ANSWER_TIMEOUT_S) as answer:
        pages = [page for page in json.load(answer) if page["type"] == "page"]
    return str(pages[0]["webSocketDebuggerUrl"])
