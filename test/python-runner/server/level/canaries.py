"""A place with everything that the probes aim at."""

import fcntl
import os
import shutil
import signal
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from toolrack_runner.child.jail.hygiene import PR_SET_DUMPABLE
from toolrack_runner.child.jail.linux import prctl
from toolrack_runner.server.level.put_canaries import connections
from toolrack_runner.wire.canaries import Canaries


@contextmanager
def put_canaries(*, worker: int) -> Iterator[Canaries]:
    """Belongs to the calling user; `worker` is the uid that the workdir is for. Everything is gone afterwards."""
    with ExitStack() as stack:
        base = tempfile.mkdtemp(prefix="toolrack-canaries-")
        stack.callback(shutil.rmtree, base)
        os.chmod(base, 0o755)
        for name, mode in (("open_file", 0o644), ("private_file", 0o600), ("source.py", 0o644)):
            _write(f"{base}/{name}", mode)
        for name, mode in (("open_directory", 0o777), ("workdir", 0o700)):
            os.mkdir(f"{base}/{name}")
            os.chmod(f"{base}/{name}", mode)
        if worker != os.getuid():
            os.chown(f"{base}/workdir", worker, worker)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        abstract_name = f"toolrack-{uuid.uuid4()}"
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        abstract.bind("\0" + abstract_name)
        abstract.listen(128)
        datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagrams.bind(f"{base}/socket")
        os.chmod(f"{base}/socket", 0o777)
        inherited = stack.enter_context(open(f"{base}/private_file", "rb"))
        number = fcntl.fcntl(inherited, fcntl.F_DUPFD, 100)
        stack.callback(os.close, number)
        passed, severed = stack.enter_context(connections())
        yield Canaries(
            victim=stack.enter_context(_victim()),
            open_file=f"{base}/open_file",
            private_file=f"{base}/private_file",
            source=f"{base}/source.py",
            open_directory=f"{base}/open_directory",
            tcp_port=tcp.getsockname()[1],
            udp_port=udp.getsockname()[1],
            abstract_name=abstract_name,
            socket_file=f"{base}/socket",
            passed=passed,
            severed=severed,
            inherited=number,
            workdir=f"{base}/workdir",
        )


@contextmanager
def _victim() -> Iterator[int]:
    """A process that only waits. Whoever has changed its uid is not dumpable, and so no victim, until it says so."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        prctl(PR_SET_DUMPABLE, 1)
        os.write(tell, b".")
        while True:
            signal.pause()
    os.read(ready, 1)
    os.close(ready)
    os.close(tell)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _write(path: str, mode: int) -> None:
    with open(path, "wb") as file:
        file.write(b"canary")
    os.chmod(path, mode)
