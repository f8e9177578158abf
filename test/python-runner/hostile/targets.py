"""What the attacks aim at: the test puts it out, and looks whether an attack has reached it."""

import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.live_runner import NOBODY, LiveRunner

#: Holds the canary in its memory and says where, after its uid has become the runner's.
VICTIM = """
import ctypes, sys, time
held = ctypes.create_string_buffer(sys.stdin.readline().strip().encode())
print(ctypes.addressof(held), flush=True)
time.sleep(600)
"""

#: Every folder that was put out.
FOLDERS: list[Path] = []


@dataclass
class Targets:
    """Everything that must stay as it is."""

    folder: Path
    canary: str
    owner: int
    live: LiveRunner
    stack: ExitStack
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    victim: "subprocess.Popen[str] | None" = None
    address: int = 0
    #: The host that a spec may name listens there, and ends each connection by RST once it was sent a byte.
    peer_port: int = 0
    mark: str = field(default_factory=lambda: f"mark-{secrets.token_hex(8)}")

    def aim(self) -> dict[str, Any]:
        """What an attack is told."""
        if self.victim is None or self.victim.poll() is not None:
            self.victim, self.address = self._victim()
        return {
            "runner": self.live.process.pid,
            "victim": self.victim.pid,
            "address": self.address,
            "open_file": f"{self.folder}/for-everybody",
            "private_file": f"{self.folder}/for-nobody",
            "source": self._source(),
            "open_directory": f"{self.folder}/everybody",
            "tcp_port": self.listeners["tcp"].getsockname()[1],
            "peer_port": self.peer_port,
            "udp_port": self.listeners["udp"].getsockname()[1],
            "abstract_name": self.folder.name,
            "socket_file": f"{self.folder}/everybody/socket",
            "mark": self.mark,
        }

    def touched(self) -> list[str]:
        """What was reached since it was last asked; empties what came."""
        found = [name for name, listener in self.listeners.items() if _has_come(name, listener)]
        written = Path(self.folder, "everybody/written")
        if written.exists():
            found.append("the folder of everybody")
            written.unlink()
        if self.victim is not None and _is_ending(self.victim):
            found.append("the victim")
            self.victim = None
        if Path(self.folder, "for-everybody").stat().st_mode & 0o777 != 0o644:
            found.append("the mode of a file")
        return found

    def _source(self) -> str:
        command = Path(f"/proc/{self.live.process.pid}/cmdline").read_bytes().split(b"\0")
        return command[2].decode() + "/__main__.py"

    def _victim(self) -> "tuple[subprocess.Popen[str], int]":
        process = subprocess.Popen(
            [os.path.realpath(sys.executable), "-I", "-c", VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=self.owner,
            group=self.owner,
            extra_groups=[] if os.geteuid() == 0 else None,
            env={},
        )
        assert process.stdin
        assert process.stdout
        self.stack.callback(_end, process)
        process.stdin.write(self.canary + "\n")
        process.stdin.flush()
        return process, int(process.stdout.readline())


@contextmanager
def put_targets(live: LiveRunner, canary: str, *, as_nobody: bool) -> Iterator[Targets]:
    """Belongs to the user of the runner; all of it is gone afterwards."""
    owner = NOBODY if as_nobody else os.geteuid()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="toolrack-targets-"))
        FOLDERS.append(folder)
        stack.callback(shutil.rmtree, folder)
        for path, mode in ((folder, 0o755), (folder / "everybody", 0o777)):
            path.mkdir(exist_ok=True)
            path.chmod(mode)
        for name, mode in (("for-everybody", 0o644), ("for-nobody", 0o600)):
            (folder / name).write_text(canary)
            (folder / name).chmod(mode)
            if as_nobody:
                os.chown(folder / name, owner, owner)
        targets = Targets(folder, canary, owner, live, stack)
        inet, stream, datagram = socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM
        addresses: list[tuple[str, int, int, Any]] = [
            ("tcp", inet, stream, ("127.0.0.1", 0)),
            ("udp", inet, datagram, ("127.0.0.1", 0)),
            ("abstract", socket.AF_UNIX, stream, f"\0{folder.name}"),
            ("socket file", socket.AF_UNIX, datagram, f"{folder}/everybody/socket"),
        ]
        for name, family, kind, address in addresses:
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            listener.setblocking(False)
            if kind == stream:
                listener.listen(128)
            targets.listeners[name] = listener
        os.chmod(folder / "everybody/socket", 0o666)
        targets.peer_port = stack.enter_context(_peer())
        yield targets


@contextmanager
def _peer() -> Iterator[int]:
    """Its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with suppress(ConnectionError):
                        connection.recv(1)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _has_come(name: str, listener: socket.socket) -> bool:
    came = False
    with suppress(BlockingIOError):
        while True:
            if name in {"tcp", "abstract"}:
                listener.accept()[0].close()
            else:
                listener.recv(100)
            came = True
    return came


def _is_ending(process: "subprocess.Popen[str]") -> bool:
    """Whether it has ended, or a signal has come that it dies of."""
    with suppress(FileNotFoundError):
        status = Path(f"/proc/{process.pid}/status").read_text()
        pending = [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
        if "State:\tZ" not in status and not any(int(mask, 16) for mask in pending):
            return False
    process.wait(5)
    return True


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()
