"""Reports of finished tasks, as the ledger keeps them."""

import json
from typing import Any

OK = "ok"
"""The status of a cell that has a result."""


class Finished:
    """What is done, as the ledger keeps it. A driver holds very many of them, so results are held as text."""

    __slots__ = ("_text", "digests", "failed", "identity", "inputs", "name", "peak_memory", "seconds")

    def __init__(
        self,
        name: str,
        identity: str,
        digests: dict[str, str],
        result: dict[str, Any],
        seconds: float,
        peak_memory: int,
        failed: str = "",
        inputs: str = "",
    ) -> None:
        """Note what is done.

        Parameters
        ----------
        failed
            Why it has no outputs, if it failed; it is then set aside until someone asks to try again.
        inputs
            Digest of what it was built on (`store.inputs.ledger_digest`). Empty for entries that are not tasks, for
            tasks that failed, and in ledgers of earlier versions.
        """
        self.name, self.identity, self.digests = name, identity, digests
        self.seconds, self.peak_memory, self.failed, self.inputs = seconds, peak_memory, failed, inputs
        self._text = json.dumps(result, allow_nan=False).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finished) and self.values() == other.values()

    @property
    def result(self) -> dict[str, Any]:
        """Small values for the tables and messages."""
        found: dict[str, Any] = json.loads(self._text)
        return found

    @property
    def failures(self) -> list[str]:
        """Why it, or cells that it speaks for, have no result."""
        result = self.result
        parts = [result, *result.get("trials", {}).values()]
        return [self.failed] if self.failed else [part["status"] for part in parts if part.get("status", OK) != OK]

    def values(self) -> dict[str, Any]:
        """All that it is made of, by name."""
        names = ("name", "identity", "digests", "result", "seconds", "peak_memory", "failed")
        values = {name: getattr(self, name) for name in names}
        return values | ({"inputs": self.inputs} if self.inputs else {})
