"""Memory that the kernel takes for a child has an end too, and children that wait are weighed with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostile.test_waiting import kept_beside_waiting
from hostile.uploads import HONEST, upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.process_tree import children_of
from support.until import until

MB = 1 << 20
#: What the kernel may take for one child beside what `memoryBytes` counts.
ALLOWANCE = 16 * MB

TAKES = r"""
import ctypes, errno, fcntl, socket, struct

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
kept = []


def fill(end):
    end.setblocking(False)
    total = 0
    for size in (65_536, 4_096, 256, 1):
        try:
            while True:
                total += end.send(b"x" * size)
        except OSError:
            pass
    return total


def sockets() -> int:
    # As many sockets as there can be, each with as much in it as it takes.
    total = 0
    try:
        while True:
            ends = socket.socketpair()
            kept.append(ends)
            for end in ends:
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    end.setsockopt(socket.SOL_SOCKET, option, 1 << 30)
                total += fill(end)
    except OSError:
        return total


def pipes() -> int:
    total = 0
    try:
        while True:
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            try:
                fcntl.fcntl(writer, 1031, 1 << 20)
            except OSError:
                pass
            try:
                while True:
                    total += os.write(writer, b"x" * 65_536)
            except OSError:
                os.close(writer)
    except OSError:
        return total


def on_their_way() -> int:
    # Sockets in sockets: neither end of what is on its way counts against the number of descriptors.
    line, _other = kept[0] if kept else kept.append(socket.socketpair()) or kept[0]
    line.setblocking(False)
    sent = 0
    try:
        for _ in range(200):
            one, another = socket.socketpair()
            with one, another:
                rights = struct.pack("i", another.fileno())
                socket.SocketType.sendmsg(line, [b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                sent += 1
    except OSError:
        pass
    return sent


def closed_but_kept() -> list:
    # Threads that wait for sockets whose descriptors are then closed: the other end of each tells whether it is still there.
    import select
    kept = []
    for way in ("poll", "ppoll", "select", "pselect", "select.poll", "select.select"):
        pairs = [socket.socketpair() for _ in range(20)]
        numbers = [mine.fileno() for mine, _ in pairs]
        asked = (ctypes.c_byte * 160).from_buffer_copy(b"".join(struct.pack("ihh", each, 1, 0) for each in numbers))
        bits = sum(1 << each for each in numbers).to_bytes(128, "little")
        def python_poll():
            poll = select.poll()
            for each in numbers:
                poll.register(each)
            poll.poll(9_000)
        wait = {
            "poll": lambda: libc.poll(asked, 20, 9_000),
            "ppoll": lambda: libc.ppoll(asked, 20, None, None),
            "select": lambda: libc.select(64, bits, None, None, None),
            "pselect": lambda: libc.pselect(64, bits, None, None, None, None),
            "select.poll": python_poll,
            "select.select": lambda: select.select(numbers, [], [], 9),
        }[way]
        threading.Thread(target=wait, daemon=True).start()
        time.sleep(0.1)
        count = 0
        for mine, other in pairs:
            mine.close()
            other.setblocking(False)
            try:
                other.recv(1)
            except BlockingIOError:
                count += 1
            other.close()
        kept.append(count)
    return kept


def sends_files() -> str:
    # Two bytes on the border of two pages keep both in a socket.
    one, other = socket.socketpair()
    with open("sent", "w+b") as file, one, other:
        file.write(bytes(8_192))
        file.flush()
        try:
            return str(os.sendfile(one.fileno(), file.fileno(), 4_095, 2))
        except OSError as error:
            return errno.errorcode[error.errno]


def threads() -> int:
    threading.stack_size(32_768)
    made = 0
    try:
        for _ in range(10_000):
            threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
            made += 1
    except RuntimeError:
        pass
    time.sleep(0.5)
    return made


def page_tables() -> int:
    # A page of zeros, which is no memory of the child's, wherever it takes new tables to lead there.
    made = 0
    for number in range(60_000):
        place = (number // 500 * (1 << 39)) % (1 << 46) + (number % 500 << 30) + (1 << 40)
        if libc.mmap(place, 4_096, 1, 0x100022, -1, 0) == place:
            ctypes.string_at(place, 1)
            made += 1
    time.sleep(0.5)
    return made


def signals() -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {40})
    told = ctypes.create_string_buffer(struct.pack("iii", 40, 0, -1), 128)
    number = 297 if os.uname().machine == "x86_64" else 240
    queued = 0
    while queued < 10_000 and not libc.syscall(number, os.getpid(), threading.get_native_id(), 40, told):
        queued += 1
    return queued


def files() -> int:
    written = 0
    try:
        for number in range(4):
            with open(f"file-{number}", "wb", buffering=0) as file:
                for _ in range(8):
                    written += file.write(bytes(1 << 20))
    except OSError:
        pass
    return written
"""
TOOLS = (
    "sockets",
    "pipes",
    "on_their_way",
    "closed_but_kept",
    "sends_files",
    "threads",
    "page_tables",
    "signals",
    "files",
)
MODULE = upload(TAKES, *TOOLS)
#: So that other tests' children do not share its queue.
FILLS_SOCKETS = upload(TAKES + "\nsockets()\n")
FILLS_FILES = upload(TAKES + "\nfiles()\n")
#: The import ends as soon as they have started: main has seldom looked in between.
STARTS_THREADS = upload(
    """
time.sleep(0.03)
threading.stack_size(32_768)
try:
    for _ in range(70):
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
except RuntimeError:
    pass
"""
)
#: A thread whose one system call takes all the memory that the child may have, and does not end for a signal to stop.
FILLS_WHEN_STOPPED = """
import ctypes, mmap
libc = ctypes.CDLL(None)
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)


def fill():
    libc.mmap(None, 200 << 20, 3, 0x22 | 0x8000, -1, 0)  # MAP_POPULATE
    memory = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(200 << 20), 23)  # MADV_POPULATE_WRITE


threading.Thread(target=fill, daemon=True).start()
"""
MAPS_FAR_APART = upload(TAKES + "\npage_tables()\n")


@pytest.fixture(scope="module", params=EVERYBODY)
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[(), ("--without=namespaces",)], ids=["", "without namespaces"])
def live(request: pytest.FixtureRequest, who: str, canary: str) -> Iterator[LiveRunner]:
    with watched_runner(who, canary, *request.param) as live:
        yield live


@pytest.mark.parametrize("tool", ["sockets", "pipes"])
def test_what_waits_in_sockets_and_pipes_has_an_end(live: LiveRunner, tool: str) -> None:
    assert 0 < live.invoke(MODULE, f"hostile:{tool}")["value"] < ALLOWANCE


def test_no_socket_is_on_its_way(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:on_their_way")["value"] == 0


def test_who_waits_for_sockets_keeps_none_that_is_closed(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:closed_but_kept")["value"] == [0] * 6


def test_no_page_of_a_file_is_put_into_a_socket(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:sends_files")["text"] == "ENOSYS"


def test_signals_that_wait_have_an_end(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:signals")["value"] <= 64


def is_ended_for_threads(answer: dict[str, Any]) -> bool:
    """By the kernel, which lets a user of its own start no more; else by main."""
    if answer["outcome"] == "success":
        return bool(answer["value"] <= 64)
    return answer["code"] == "MEMORY_LIMIT" and "threads, and may have 64" in answer["error"]


def test_threads_have_an_end(live: LiveRunner) -> None:
    answer = live.invoke(MODULE, "hostile:threads")
    assert is_ended_for_threads(answer), answer


def test_page_tables_count_as_memory(live: LiveRunner) -> None:
    answer = live.invoke(MODULE, "hostile:page_tables")
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "may hold 256 MB" in answer["error"]


def test_an_import_is_watched_for_them_too(live: LiveRunner) -> None:
    report = live.check("hostile", MAPS_FAR_APART)
    assert report["faults"][0]["kind"] == "import_memory", report
    assert live.invoke(MAPS_FAR_APART, "hostile:hello").get("code") == "MEMORY_LIMIT"


def test_a_module_that_starts_more_threads_than_it_may_does_not_wait(who: str, canary: str) -> None:
    with watched_runner(who, canary) as live:
        answers = [live.invoke(STARTS_THREADS, "hostile:hello", tenant=f"{number}") for number in range(8)]
        until(lambda: kept_beside_waiting(live)() <= 2, "the end of children that are made ahead")
        # The kernel gives a child that has a user of its own no more than it may have.
        is_ended = answers[0].get("code") == "MEMORY_LIMIT"
        assert {answer.get("code") for answer in answers} == {"MEMORY_LIMIT" if is_ended else None}
        assert (live.health()["children"]["waiting"] == 0) == is_ended


def own_bytes(pid: int) -> int:
    """Memory of a process that no file is behind; 0 where it is gone."""
    try:
        told = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(told.partition("RssAnon:")[2].split()[0]) << 10 if "RssAnon:" in told else 0


def test_a_child_does_not_grow_after_it_was_weighed(who: str, canary: str) -> None:
    with watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB="256") as live:
        for number in range(8):
            live.invoke(upload(f"{FILLS_WHEN_STOPPED}\n# {number}"), "hostile:hello", tenant="grower")
        until(lambda: kept_beside_waiting(live)() <= 2, "the end of children that are made ahead")
        children = children_of(live.process.pid)
        assert live.health()["children"]["waiting"] > 0
        assert sum(own_bytes(pid) for pid in children) < 700 * MB


def waiting_after_calls(live: LiveRunner, source: str) -> int:
    """How many children wait when each of twenty tenants has called a module."""
    for number in range(20):
        assert live.invoke(source, "hostile:hello", tenant=f"{number}")["text"] == "hello"
    until(lambda: kept_beside_waiting(live)() <= 2, "the end of children that are made ahead")
    waiting: int = live.health()["children"]["waiting"]
    return waiting


def test_children_that_wait_are_weighed_with_their_sockets(who: str, canary: str) -> None:
    with watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB="64") as live:
        assert 6 <= waiting_after_calls(live, HONEST) <= 16
    # In a runner of its own: honest children would wait beside these, for the user who has most makes room first.
    with watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB="64") as live:
        assert 1 <= waiting_after_calls(live, FILLS_SOCKETS) <= 64 // 12


def test_children_that_wait_are_weighed_with_their_files(who: str, canary: str) -> None:
    with watched_runner(who, canary, TOOLRACK_RUNNER_POOL_MB="64") as live:
        assert 1 <= waiting_after_calls(live, FILLS_FILES) <= 64 // 16
