"""What the system calls of a child must not reach: canaries that are put out around one runner."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from hostile.watched_runner import standard_error_in
from support.live_runner import NOBODY, LiveRunner, invocation, live_runner
from support.process_tree import children_of
from support.until import until

#: Signals stay pending, so that each that has come is seen.
BLOCKED = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
VICTIM = f"{BLOCKED}; print(1, flush=True); import time; time.sleep(3600)"
#: The same as a tool, in a child beside the one that makes the calls.
SIBLING = f"""
import os, socket, time
def wait() -> None:
    {BLOCKED}
    line = socket.create_connection(("localhost", PORT))
    line.send(b"sibling %d %d\\n" % (os.fstat(line.fileno()).st_ino, os.getpid()))
    time.sleep(3600)
TOOL_SPECS = [{{"name": "sibling:wait", "description": "Waits.", "handler": wait}}]
"""
#: A file of the interpreter that nothing here opens: closing it would give its locks up.
LIBRARY = f"{os.path.dirname(os.__file__)}/antigravity.py"
#: No process has a number from here on.
PID_MAX = int(Path("/proc/sys/kernel/pid_max").read_text())


@dataclass
class Canaries:
    """The canaries, and the runner that they are put out around."""

    live: LiveRunner
    folder: Path
    log: Path
    owner: int
    layers: frozenset[str]
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    peer_port: int = 0
    #: What is done while the child of a batch waits; its process as seen here, or 0 where it is not found.
    on_held: Callable[[int], None] = lambda _: None
    victim: "subprocess.Popen[bytes] | None" = None
    #: The child of another call: its number inside the jail, and here.
    sibling: int = 0
    sibling_here: int = 0
    has_sibling: threading.Event = field(default_factory=threading.Event)

    def aim(self) -> dict[str, object]:
        """What a child is told of it."""
        return {
            "canary": f"{self.folder}/canary/file",
            "canary_folder": f"{self.folder}/canary",
            "outside": f"{self.folder}/canary/new",
            "runner": f"/proc/{self.live.process.pid}/environ",
            "library": LIBRARY,
            "null": os.devnull,
            "tcp": self.listeners["tcp"].getsockname()[1],
            "udp": self.listeners["udp"].getsockname()[1],
            "abstract": self.folder.name,
            "socket_file": f"{self.folder}/canary/socket",
            "peer": self.peer_port,
            "pids": self.pids(),
        }

    def pids(self) -> dict[str, int]:
        """Processes that are there, and numbers that none has."""
        outside = self.victim.pid if self.victim else 0
        numbers = {
            "sibling": self.sibling,
            "outside": outside,
            "absent": PID_MAX + 1,
            "absent_too": PID_MAX + 2,
        }
        return {f"pid:{name}": number for name, number in numbers.items()}

    def holder_of(self, inode: int) -> int:
        """Which child of the runner's holds a socket; 0 if none. Numbers inside the jail may mean several."""
        for pid in children_of(self.live.process.pid):
            with suppress(OSError):
                folder = f"/proc/{pid}/fd"
                for number in os.listdir(folder):
                    with suppress(OSError):
                        if os.readlink(f"{folder}/{number}") == f"socket:[{inode}]":
                            return pid
        return 0

    def put_back(self) -> None:
        """Files, processes and listeners as they are to be, whatever was done to them."""
        canary = self.folder / "canary"
        shutil.rmtree(canary, ignore_errors=True)
        canary.mkdir()
        canary.chmod(0o777)
        (canary / "file").write_text("canary")
        (canary / "folder").mkdir()
        for path in (canary, canary / "file", canary / "folder"):
            os.chown(path, self.owner, self.owner)
        for listener in self.listeners.values():
            listener.close()
        self._listen()
        if self.victim is not None:
            self.victim.kill()
            self.victim.communicate()
        self.victim = subprocess.Popen(
            [os.path.realpath(sys.executable), "-I", "-c", VICTIM],
            stdout=subprocess.PIPE,
            user=self.owner if os.geteuid() == 0 else None,
            env={},
        )
        assert self.victim.stdout
        self.victim.stdout.readline()
        if not self.sibling_here:
            self._start_sibling()

    def _listen(self) -> None:
        inet, stream, datagram = socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM
        unix = socket.AF_UNIX
        for name, family, kind, address in (
            ("tcp", inet, stream, ("127.0.0.1", 0)),
            ("udp", inet, datagram, ("127.0.0.1", 0)),
            ("abstract", unix, stream, f"\0{self.folder.name}"),
            ("socket file", unix, datagram, f"{self.folder}/canary/socket"),
        ):
            listener = socket.socket(family, kind)
            listener.bind(address)
            listener.setblocking(False)
            if kind == stream:
                listener.listen(128)
            self.listeners[name] = listener
        os.chmod(self.folder / "canary/socket", 0o666)

    def _start_sibling(self) -> None:
        self.has_sibling.clear()
        source = SIBLING.replace("PORT", str(self.peer_port))
        network = [f"localhost:{self.peer_port}"]
        body = invocation(source, "sibling:wait", network=network, tenant="sibling", deadlineMs=3_600_000)
        threading.Thread(target=self._invoke, args=(body,), daemon=True).start()
        until(self.has_sibling.is_set, "the call that runs beside the others")

    def _invoke(self, body: dict[str, object]) -> None:
        with suppress(httpx.HTTPError):
            headers = {"Authorization": f"Bearer {self.live.secret}"}
            httpx.post(f"{self.live.url}/invoke", json=body, headers=headers, timeout=3_600)

    def answer(self, connection: socket.socket) -> None:
        """One connection that the broker granted: a line of a child, or one that the calls are made on."""
        with connection, suppress(OSError):
            said = connection.makefile("rb").readline(100).split()
            if said[:1] == [b"sibling"]:
                self.sibling, self.sibling_here = int(said[2]), self.holder_of(int(said[1]))
                self.has_sibling.set()
                connection.recv(1)
                self.sibling_here = 0
            elif said[:1] == [b"held"]:
                try:
                    self.on_held(self.holder_of(int(said[1])))
                finally:
                    connection.send(b"g")


@contextmanager
def put_canaries(*, as_nobody: bool = False, without: tuple[str, ...] = ()) -> Iterator[Canaries]:
    """A runner with all of this around it; nothing is left afterwards."""
    owner = NOBODY if as_nobody else os.geteuid()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="toolrack-fuzz-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        log = folder / "log"
        peer = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
        environment = {
            "TOOLRACK_RUNNER_NETWORK_ALLOW": "127.0.0.0/8",
            "TOOLRACK_RUNNER_MIN_ISOLATION": "L0" if without else "L3",
        }
        with standard_error_in(log):
            runner = live_runner(
                *(f"--without={layer}" for layer in without), environment=environment, as_nobody=as_nobody
            )
            live = stack.enter_context(runner)
        health = live.health()
        assert health["status"] == "ok", health
        layers = frozenset(layer["name"] for layer in health["layers"] if layer["on"])
        world = Canaries(live, folder, log, owner, layers, peer_port=peer.getsockname()[1])
        stack.callback(_end, world)
        threading.Thread(target=_serve, args=(peer, world), daemon=True).start()
        world.put_back()
        yield world


def _serve(peer: socket.socket, world: Canaries) -> None:
    with suppress(OSError):
        while True:
            connection, _ = peer.accept()
            threading.Thread(target=world.answer, args=(connection,), daemon=True).start()


def _end(world: Canaries) -> None:
    for listener in world.listeners.values():
        listener.close()
    if world.victim is not None:
        world.victim.kill()
        world.victim.communicate()
