"""The module that makes the system calls of `fuzz.syscalls`: sent to a runner as its source, it runs inside the jail.

A case names what it gives: `fd:pipe_r` is a descriptor, `mem:lock_write` an address, `path:canary` the address of a path,
`pid:sibling` a process, `result:0` what the first call gave, `out:0` the first number in `mem:good`.

Each case is written to the output before its calls, and what they gave behind it: `<mark><number>=`, then `<result>:<errno>`
for each call, and the names of the secrets that came to light. All of it is one file because a module is one file.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import stat
import struct
import threading
import time
from contextlib import suppress
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
system_call = libc.syscall
system_call.argtypes = (ctypes.c_ulong,) * 7
system_call.restype = ctypes.c_long
U64 = (1 << 64) - 1
#: High numbers: the calls under test make and close low ones.
LOG, LINE = 62, 61
ARENA_BYTES = 1 << 14
#: Pages that nobody has written to: to send them costs the child no memory.
MANY_BYTES = 1 << 20
#: A call is interrupted after so long, and a child that hangs all the same ends itself.
ALARM_SECONDS, STUCK_SECONDS = 0.004, 0.25
#: The same where one case makes its calls thousands of times.
STUCK_REPEATING_SECONDS = 2.0
#: How long the calls of one thread may take, and what all threads of a child then take.
CALLING_SECONDS, TAKING_SECONDS = 0.05, 1.0
#: The stack of a thread that makes calls.
STACK_BYTES = 128 << 10
#: How long one case that is repeated may take.
REPEATING_SECONDS = 4.0


class Arena:
    """The memory that calls are given, with structures in it; as new before each case."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(ARENA_BYTES)
        self.at: dict[str, int] = {}
        self._end = 64

    def put(self, name: str, data: bytes) -> int:
        address = ctypes.addressof(self.memory) + self._end
        ctypes.memmove(address, data, len(data))
        self.at[name] = address
        self._end += (len(data) + 31) // 16 * 16
        return address

    def keep(self) -> None:
        self.template = self.memory.raw

    def renew(self) -> None:
        ctypes.memmove(self.memory, self.template, ARENA_BYTES)


def sockaddr_in(port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, b"\x7f\0\0\1")


def filled(aim: dict[str, Any]) -> Arena:
    arena = Arena()
    arena.put("mem:good", bytes(4096))
    arena.put("mem:text", b"fuzz" * 16)
    for kind, number in (("read", 0), ("write", 1), ("unlock", 2)):
        arena.put(f"mem:lock_{kind}", struct.pack("hhqqi4x", number, 0, 0, 0, 0))
        arena.put(f"mem:lock_byte_{kind}", struct.pack("hhqqi4x", number, 0, 7, 1, 0))
    addresses = {
        "tcp": sockaddr_in(aim["tcp"]),
        "udp": sockaddr_in(aim["udp"]),
        "abstract": struct.pack("=H", socket.AF_UNIX) + b"\0" + aim["abstract"].encode(),
        "file": struct.pack("=H", socket.AF_UNIX) + aim["socket_file"].encode() + b"\0",
    }
    data = arena.at["mem:text"]
    vector = arena.put("mem:iovec", struct.pack("@PNPN", data, 16, data, 16))
    rights = struct.pack("@Niii4x", 20, socket.SOL_SOCKET, socket.SCM_RIGHTS, 1)
    control = arena.put("mem:rights", rights)
    arena.put("mem:msg", struct.pack("@PIPNPNi", 0, 0, vector, 1, 0, 0, 0))
    arena.put("mem:msg_rights", struct.pack("@PIPNPNi", 0, 0, vector, 1, control, len(rights), 0))
    for name, address in addresses.items():
        place = arena.put(f"mem:addr_{name}", address)
        arena.put(f"mem:msg_{name}", struct.pack("@PIPNPNi", place, len(address), vector, 1, 0, 0, 0))
    room = arena.put("mem:room", bytes(256))
    arena.put("mem:msg_room", struct.pack("@PIPNPNi", 0, 0, vector, 1, room, 256, 0))
    arena.put("mem:time", struct.pack("@qq", 0, 1_000_000))
    arena.put("mem:timer", struct.pack("@qqqq", 0, 1_000_000, 0, 1_000_000))
    arena.put("mem:event", struct.pack("=IQ", 1, 1))
    arena.put("mem:number", struct.pack("@q", 1))
    arena.put("mem:length", struct.pack("@q", 128))
    arena.put("mem:large", struct.pack("@q", 1 << 30))
    arena.put("mem:offset", struct.pack("@q", 4))
    arena.put("mem:poll", struct.pack("@ihh", 0, 1, 0))
    arena.put("mem:all", b"\xff" * 128)
    paths = {"canary", "canary_folder", "runner", "library", "null", "outside"}
    own = {"file": "own", "folder": "folder", "new": "new", "here": ".", "up": "..", "empty": "", "root": "/"}
    for name, path in {**{name: aim[name] for name in paths}, **own}.items():
        arena.put(f"path:{name}", os.fsencode(path) + b"\0")
    arena.put("path:long", b"x" * 4200 + b"\0")
    arena.keep()
    return arena


class World:
    """All that a case can name. `aim` says where the things outside are."""

    def __init__(self, aim: dict[str, Any]) -> None:
        self._aim = aim
        channel = next((number for number in range(3, 64) if is_socket(number)), -1)
        network = aim["peer"]
        line, tcp = (connected(network) for _ in range(2))
        for number, made in ((LOG, os.dup(1)), (LINE, line)):
            if made >= 0:
                os.dup2(made, number, inheritable=False)
                os.close(made)
        self.given = {"fd:channel": channel, "fd:output": 1, "fd:stdin": 0, "fd:tcp": tcp}
        self.kept: dict[int, tuple[int, int]] = {}
        self._arena = filled(aim)
        self._pages = mmap.mmap(-1, MANY_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        self._numbers = {
            "mem:null": 0,
            "mem:bad": 8,
            "mem:kernel": 0xFFFF_8880_0000_0000,
            "mem:many": pages,
            "mem:page_end": pages + MANY_BYTES - 8,
            "fd:none": U64,
            "fd:huge": 0x7FFF_FFFF,
            "pid:own": os.getpid(),
            "pid:group": -os.getpid() & U64,
            "pid:zero": 0,
            "pid:all": U64,
            "pid:parent": os.getppid(),
            "at:here": -100 & U64,
            **{name: number & U64 for name, number in aim["pids"].items()},
            **self._arena.at,
        }
        self._secrets = {name: struct.pack("@q", number) for name, number in aim["secrets"].items()}
        self.renew()

    def renew(self) -> None:
        """Memory as new, and a descriptor of each kind again where one is gone."""
        self._arena.renew()
        if any(
            name not in self._aim["broken"] and not self._is_same(number) for name, number in self._made()
        ):
            self._make()

    def _made(self) -> list[tuple[str, int]]:
        return [(name, self._numbers.get(name, -1)) for name in KINDS]

    def _is_same(self, number: int) -> bool:
        try:
            seen = os.fstat(number)
        except (OSError, OverflowError):
            return False
        return self.kept.get(number) == (seen.st_dev, seen.st_ino)

    def _make(self) -> None:
        given = set(self.given.values())
        for number in range(3, LINE):
            if number not in given:
                with suppress(OSError):
                    os.close(number)
        self._numbers |= {name: number & U64 for name, number in self.given.items()}
        for make in MAKERS:
            with suppress(OSError):
                self._numbers |= {name: number & U64 for name, number in make(self._aim).items()}
        self.kept = {}
        for _, number in self._made():
            with suppress(OSError, OverflowError):
                seen = os.fstat(number)
                self.kept[number] = (seen.st_dev, seen.st_ino)
        self._aim["broken"] = [name for name, number in self._made() if number not in self.kept]

    def value(self, argument: int | str, results: list[int]) -> int:
        if isinstance(argument, int):
            return argument & U64
        if argument.startswith("result:"):
            at = int(argument.removeprefix("result:"))
            return results[at] & U64 if at < len(results) else U64
        if argument.startswith("out:"):
            # One of the numbers that a call before wrote, such as the descriptors of a pipe.
            at = 4 * int(argument.removeprefix("out:"))
            return int.from_bytes(self._arena.memory.raw[64:80][at : at + 4], "little")
        return self._numbers.get(argument, U64)

    def seen(self) -> list[str]:
        """The names of the secrets that calls wrote to memory."""
        memory = self._arena.memory.raw
        if memory == self._arena.template:
            return []
        return [name for name, secret in self._secrets.items() if secret in memory]


def connected(port: int) -> int:
    """The descriptor of a connection that the broker makes."""
    with socket.create_connection(("localhost", port)) as connection:
        connection.setblocking(True)
        return connection.detach()


def is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def make_files(aim: dict[str, Any]) -> dict[str, int]:
    with suppress(OSError):
        os.mkdir("folder")
    own = os.open("own", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(own, b"own" * 100, 0)
    return {
        "fd:file": own,
        "fd:file_r": os.open("own", os.O_RDONLY),
        "fd:folder": os.open(".", os.O_RDONLY),
    }


def make_path(aim: dict[str, Any]) -> dict[str, int]:
    return {"fd:path": os.open(".", os.O_PATH)}


def make_shared(aim: dict[str, Any]) -> dict[str, int]:
    return {
        "fd:null": os.open("/dev/null", os.O_RDWR),
        "fd:library": os.open(aim["library"], os.O_RDONLY),
        "fd:library_folder": os.open(os.path.dirname(aim["library"]), os.O_RDONLY),
    }


def make_streams(aim: dict[str, Any]) -> dict[str, int]:
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    os.write(writer, b"pipe" * 8)
    other.send(b"pair" * 8)
    return {
        "fd:pipe_r": reader,
        "fd:pipe_w": writer,
        "fd:pair": one.detach(),
        "fd:pair_other": other.detach(),
    }


def make_events(aim: dict[str, Any]) -> dict[str, int]:
    numbers = aim["numbers"]
    made = {
        "fd:event": system_call(numbers["eventfd2"], 1, 0, 0, 0, 0, 0),
        "fd:timer": system_call(numbers["timerfd_create"], 1, 0, 0, 0, 0, 0),
        "fd:epoll": system_call(numbers["epoll_create1"], 0, 0, 0, 0, 0, 0),
    }
    return {name: number for name, number in made.items() if number >= 0}


MAKERS = (make_files, make_path, make_shared, make_streams, make_events)
KINDS = (
    *("fd:stdin", "fd:output", "fd:channel", "fd:tcp", "fd:null", "fd:library", "fd:library_folder"),
    *("fd:file", "fd:file_r", "fd:folder", "fd:path", "fd:pipe_r", "fd:pipe_w", "fd:pair", "fd:pair_other"),
    *("fd:event", "fd:timer", "fd:epoll"),
)

_progress = [0]
_is_held = threading.Event()
_released = threading.Event()
#: Threads whose calls are made wait for this before they take what they can.
_may_take = threading.Event()
_have_called, _have_taken = threading.Semaphore(0), threading.Semaphore(0)


def guard(seconds: float) -> None:
    """Ends the process when it makes no progress: the calls after the one that hangs are then tried in another."""
    seen = -1
    while True:
        time.sleep(seconds)
        if seen == _progress[0] and not _is_held.is_set():
            os._exit(78)
        seen = _progress[0]


def say(text: str) -> None:
    try:
        os.write(LOG, text.encode())
    except OSError:
        os._exit(77)


def one(world: World, case: dict[str, Any], numbers: dict[str, int]) -> str:
    """The case's calls, as often as it says; what the last round gave."""
    end = time.monotonic() + REPEATING_SECONDS
    said: list[str] = []
    for _ in range(case.get("times", 1)):
        results: list[int] = []
        said = []
        for name, *arguments in case["calls"]:
            _progress[0] += 1
            if name == "thread":
                result = start_thread()
            else:
                values = [world.value(argument, results) for argument in arguments]
                result = system_call(numbers[name], *values, *(0,) * (6 - len(values)))
            results.append(result)
            said.append(f"{result}:{ctypes.get_errno() if result == -1 else 0}")
        if time.monotonic() > end:
            break
    return " ".join([*said, *(f"!{name}" for name in world.seen())])


def start_thread() -> int:
    try:
        threading.Thread(target=_released.wait, daemon=True).start()
    except RuntimeError:
        return -1
    return 0


def in_threads(world: World, case: dict[str, Any], numbers: dict[str, int]) -> str:
    """The case's calls in several threads, which live on; what the calls of the first gave."""
    said: list[str] = []

    def live() -> None:
        results: list[int] = []
        words: list[str] = []
        for name, *arguments in case["calls"]:
            values = [world.value(argument, results) for argument in arguments]
            results.append(system_call(numbers[name], *values, *(0,) * (6 - len(values))))
            words.append(f"{results[-1]}:{ctypes.get_errno() if results[-1] == -1 else 0}")
        said[:] = said or words
        _have_called.release()
        _may_take.wait()
        take()
        _have_taken.release()
        _released.wait()

    for _ in range(case["threads"]):
        _progress[0] += 1
        try:
            threading.Thread(target=live, daemon=True).start()
        except RuntimeError:
            break
        # A call may wait for something that never comes.
        _have_called.acquire(timeout=CALLING_SECONDS)
    return " ".join([*said, *(f"!{name}" for name in world.seen())])


def take() -> None:
    """Fills as many sockets as this thread may have."""
    with suppress(OSError):
        while True:
            ends = socket.socketpair()
            _taken.append(ends)
            for end in ends:
                end.setblocking(False)
                with suppress(OSError):
                    while True:
                        end.send(FILLING)


_taken: list[Any] = []
FILLING = bytes(36_000)


def wait_for_observers() -> None:
    """Says on its line which socket that is, by which its process is found, and goes on when it is told to."""
    try:
        os.write(LINE, f"held {os.fstat(LINE).st_ino}\n".encode())
        os.read(LINE, 1)
    except OSError:
        pass


def run(batch: str) -> bool:
    given = json.loads(batch)
    numbers, mark = given["aim"]["numbers"], given["mark"]
    is_threaded = any("threads" in case for _, case in given["cases"])
    threading.stack_size(STACK_BYTES if is_threaded else 32 << 10)
    world = World(given["aim"] | {"broken": []})
    is_repeating = any("times" in case for _, case in given["cases"])
    seconds = STUCK_REPEATING_SECONDS if is_repeating or is_threaded else STUCK_SECONDS
    threading.Thread(target=guard, args=(seconds,), daemon=True).start()
    signal.signal(signal.SIGALRM, lambda *_: None)
    for number, case in given["cases"]:
        world.renew()
        say(f"\n{mark}{number}=")
        signal.setitimer(signal.ITIMER_REAL, ALARM_SECONDS, ALARM_SECONDS)
        said = (in_threads if "threads" in case else one)(world, case, numbers)
        signal.setitimer(signal.ITIMER_REAL, 0)
        say(f"{said}\n")
    if is_threaded:
        _may_take.set()
        _have_taken.acquire(timeout=TAKING_SECONDS)
        while _have_taken.acquire(timeout=CALLING_SECONDS):
            pass
    _is_held.set()
    wait_for_observers()
    return True


TOOL_SPECS = [{"name": "fuzz:run", "description": "Makes system calls.", "handler": run}]
