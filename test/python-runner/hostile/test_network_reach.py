"""No packet leaves a call, not to the metadata server and not to this machine."""

import shutil
import socket
import subprocess
from collections.abc import Iterator

import pytest

from hostile.uploads import upload
from support.live_runner import LiveRunner

METADATA = "169.254.169.254"
REACHES = upload(
    """
import errno, socket


def reach(address: str, port: int, how: str) -> str:
    try:
        if how == "tcp":
            socket.create_connection((address, port), 1).close()
        elif how == "udp":
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (address, port))
        else:
            import urllib.request
            urllib.request.urlopen(f"http://{address}:{port}/computeMetadata/v1/", timeout=1).read()
    except OSError as error:
        inner = getattr(error, "reason", error)
        return errno.errorcode.get(inner.errno, str(inner)) if isinstance(inner, OSError) else str(inner)
    return "through"
""",
    "reach",
)


@pytest.fixture(scope="module")
def metadata_server() -> Iterator[str]:
    """Listens at the metadata server's address where that can be given to the loopback, else on the loopback's own."""
    address = ["address", "add", f"{METADATA}/32", "dev", "lo"]
    ip = shutil.which("ip")
    is_ours = (
        ip is not None and subprocess.run([ip, *address], capture_output=True, check=False).returncode == 0
    )
    yield METADATA if is_ours else "127.0.0.1"
    if ip is not None and is_ours:
        subprocess.run([ip, "address", "del", *address[2:]], check=True)


@pytest.mark.parametrize("how", ["tcp", "udp", "http"])
def test_the_metadata_server_is_not_reached(any_runner: LiveRunner, metadata_server: str, how: str) -> None:
    kind = socket.SOCK_DGRAM if how == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind((metadata_server, 0))
        server.setblocking(False)
        if how != "udp":
            server.listen()
        port = server.getsockname()[1]
        for address in (metadata_server, METADATA, "127.0.0.1", "0.0.0.0"):
            answer = any_runner.invoke(
                REACHES, "hostile:reach", {"address": address, "port": port, "how": how}
            )
            assert answer["text"] == "EPERM"
        with pytest.raises(BlockingIOError):
            server.recv(1) if how == "udp" else server.accept()


def test_no_name_is_looked_up(any_runner: LiveRunner) -> None:
    arguments = {"address": "metadata.google.internal", "port": 80, "how": "http"}
    answer = any_runner.invoke(REACHES, "hostile:reach", arguments)
    assert answer["text"] != "through"
    assert answer["usage"]["wallMs"] < 4_000
