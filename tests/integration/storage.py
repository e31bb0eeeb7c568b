"""An S3-compatible store in a process of its own, for as long as it is needed: `moto`, on 127.0.0.1."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUCKET = "corpus"
SECRET = "canary/secret+0123456789abcdefghijklmnop"
KEYS = {"AWS_ACCESS_KEY_ID": "AKCANARY0123456789AB", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
PATIENCE = 60.0  # seconds


class Store:
    """The store, seen from a test."""

    def __init__(self, port: int) -> None:
        self.endpoint_url = f"http://127.0.0.1:{port}"
        self.env = {**KEYS, "AWS_EC2_METADATA_DISABLED": "true"}

    @property
    def system(self) -> Any:
        """The store's objects, asked for directly."""
        import s3fs

        return s3fs.S3FileSystem(
            key=KEYS["AWS_ACCESS_KEY_ID"],
            secret=SECRET,
            endpoint_url=self.endpoint_url,
            use_listings_cache=False,
            client_kwargs={"region_name": "us-east-1"},
        )

    def put_folder(self, folder: Path, prefix: str) -> str:
        """Put every file of a folder below a prefix; its address."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.system.pipe_file(f"{BUCKET}/{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Every object below a prefix with its bytes."""
        root = f"{BUCKET}/{prefix}/"
        return {path[len(root) :]: self.system.cat_file(path) for path in self.system.find(root)}


@contextmanager
def store_process() -> Iterator[Store]:
    """The store with an empty bucket."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | KEYS)
    try:
        store = Store(port)
        wait_for(store.endpoint_url, process)
        store.system.call_s3("create_bucket", Bucket=BUCKET)
        yield store
    finally:
        process.kill()
        process.wait()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Until somebody answers there."""
    limit = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).read()
            return
        except OSError:
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.1)
