"""Memory that RLIMIT_DATA does not count has an end too: whoever holds more than the limit of a call is refused or ended."""

from collections.abc import Iterator

import pytest

from hostile.uploads import upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.process_tree import children_of
from support.until import until

MB = 1 << 20

HOLDS = """
import ctypes, errno, mmap

MB = 1 << 20
RW, RO, PRIVATE, SHARED, ANONYMOUS, FAILED = 3, 1, 2, 1, 0x20, ctypes.c_void_p(-1).value
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.getauxval.restype = libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.getauxval.argtypes = (ctypes.c_ulong,)
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
libc.mprotect.argtypes = libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def fail():
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mapped(size, flags=PRIVATE | ANONYMOUS, file=-1, protection=RW):
    address = libc.mmap(None, size, protection, flags, file, 0)
    return fail() if address == FAILED else address


def remapped(address, size, new_size, flags=1, target=None):
    new = libc.mremap(address, size, new_size, flags, target)
    return fail() if new == FAILED else new


def lowest_page_of_the_stack():
    page = libc.getauxval(25) & -4096
    while not libc.madvise(page - 4096, 4096, 0):
        page -= 4096
    return page


def held(parts, touch=True):
    # What a tool says that got through; the sum of the parts, each touched and kept.
    total = 0
    for address, size in parts:
        if touch:
            ctypes.memset(address, 1, size)
        drop(address, size)
        total += size
        if total >= 1_500 * MB:
            break
    time.sleep(1)
    return f"held {total // MB} MB"


def drop(address, size):
    if libc.mprotect(address, size, RO):
        fail()


def until_refused(make):
    # Whatever can be had, and then what was had is kept.
    while True:
        try:
            yield make()
        except OSError:
            return


def grown_stack() -> str:
    size = 1_500 * MB
    ctypes.memset(remapped(lowest_page_of_the_stack(), 4096, size), 1, size)
    time.sleep(1)
    return "held 1500 MB"


def burst() -> str:
    # 288 MB as fast as it can be had (MADV_HUGEPAGE, MADV_POPULATE_WRITE), and the answer at once.
    total = 0
    for size in (192 * MB, 96 * MB):
        address = mapped(size)
        libc.madvise(address, size, 14)
        if libc.madvise(address, size, 23):
            ctypes.memset(address, 1, size)
        drop(address, size)
        total += size
    return f"held {total // MB} MB"


def remaps() -> list:
    seen = []
    with open(library(), "rb") as file:
        of_file = mapped(1 * MB, PRIVATE, file.fileno(), RO)
    pages = {
        "vdso": libc.getauxval(33),
        "data of a library": ctypes.addressof(ctypes.c_void_p.in_dll(libc, "environ")) & -4096,
        "file": of_file,
        "anonymous": mapped(1 * MB),
    }
    room = mapped(8 * MB, protection=0)
    for name, page in pages.items():
        for flags in (0, 1, 3, 5, 7):  # MAYMOVE, FIXED, DONTUNMAP
            try:
                remapped(page, 4096, 4096 if flags & 4 else 4 * MB, flags, room)
                seen.append(f"{name}, {flags}: through")
            except OSError as error:
                seen.append(errno.errorcode[error.errno])
    return sorted(set(seen))


def library():
    found = [f"{folder}/{name}" for folder, _, names in os.walk("/usr/lib") for name in names if ".so" in name]
    return max((path for path in found if os.path.isfile(path)), key=os.path.getsize)


def deep_stack(megabytes: int) -> str:
    # The frames in use lie in the first megabyte below the random bytes of AT_RANDOM. They are not written over.
    top = libc.getauxval(25) - MB
    for depth in range(1, megabytes + 1):
        ctypes.memset(top - depth * MB, 1, MB)
    return f"held {megabytes} MB"


def dropped_permission() -> str:
    return held(until_refused(lambda: (mapped(20 * MB), 20 * MB)))


def dropped_untouched() -> int:
    total = 0
    for address, size in until_refused(lambda: (mapped(20 * MB), 20 * MB)):
        drop(address, size)
        total += size
        if total > 4_000 * MB:
            break
    return total


def written_library() -> str:
    with open(library(), "rb") as file:
        size = os.path.getsize(file.fileno()) & -4096
        return held(until_refused(lambda: (mapped(size, PRIVATE, file.fileno()), size)))


def unreserved() -> str:
    return held(until_refused(lambda: (mapped(20 * MB, PRIVATE | ANONYMOUS | 0x24000), 20 * MB)))


def advised() -> str:
    def make():
        address = mapped(20 * MB)
        ctypes.memset(address, 1, 20 * MB)
        for advice in (14, 20, 21):  # HUGEPAGE, COLD, PAGEOUT
            libc.madvise(address, 20 * MB, advice)
        return address, 20 * MB
    return held(until_refused(make))


def refused() -> list:
    tried = {
        "huge pages": lambda: mapped(2 * MB, PRIVATE | ANONYMOUS | 0x40000),
        "memfd": lambda: os.memfd_create("x"),
        "userfaultfd": lambda: libc.syscall(323 if os.uname().machine == "x86_64" else 282, 0) < 0 and fail(),
        "zeros": lambda: mapped(2 * MB, SHARED, os.open("/dev/zero", os.O_RDWR)),
    }
    through = []
    for name, attempt in tried.items():
        try:
            attempt()
            through.append(name)
        except OSError:
            pass
    return through


def honest() -> str:
    taken = [bytearray(b"x") * (20 * MB) for _ in range(11)]
    reads, (reader, writer) = [], os.pipe()
    for _ in range(1_000):
        os.write(writer, b"x" * 100)
        reads.append(os.read(reader, 1 * MB))
    threads = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open("file", "wb+") as file:
        file.write(bytes(8 * MB))
        with mmap.mmap(file.fileno(), 8 * MB) as whole:
            whole[:] = b"y" * (8 * MB)
    return f"{len(taken)} {len(reads)}"
"""
TOOLS = (
    *("grown_stack", "remaps", "deep_stack", "dropped_permission", "dropped_untouched", "written_library"),
    *("unreserved", "advised", "refused", "honest", "burst"),
)
MODULE = upload(HOLDS, *TOOLS)
AT_IMPORT = upload(HOLDS + "\ndropped_permission()\n")


@pytest.fixture(scope="module", params=EVERYBODY)
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=[(), ("--without=namespaces",)], ids=["", "without namespaces"])
def live(request: pytest.FixtureRequest, who: str, canary: str) -> Iterator[LiveRunner]:
    with watched_runner(who, canary, *request.param) as live:
        yield live


@pytest.mark.parametrize("tool", ["dropped_permission", "written_library", "advised"])
def test_memory_that_is_no_longer_counted_ends_the_call(live: LiveRunner, tool: str) -> None:
    answer = live.invoke(MODULE, f"hostile:{tool}")
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "was ended: it held" in answer["error"]
    assert "may hold 256 MB" in answer["error"]
    # What it was forked with, shared libraries and the address space's allowance included.
    assert answer["usage"]["maxRssBytes"] < 480 * MB


def test_a_call_that_holds_too_much_is_no_success_however_fast_it_is(live: LiveRunner) -> None:
    answer = live.invoke(MODULE, "hostile:burst")
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "may hold 256 MB" in answer["error"]


def test_a_smaller_limit_is_watched_too(live: LiveRunner) -> None:
    answer = live.invoke(MODULE, "hostile:dropped_permission", limits={"memoryBytes": 64 * MB})
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "may hold 64 MB" in answer["error"]


def test_a_mapping_can_not_be_grown_or_moved(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:remaps")["value"] == ["ENOSYS"]
    answer = live.invoke(MODULE, "hostile:grown_stack")
    assert answer.get("code") == "TOOL_RAISED", answer
    assert "Function not implemented" in answer["error"]


def test_the_stack_has_an_end(live: LiveRunner) -> None:
    answer = live.invoke(MODULE, "hostile:deep_stack", {"megabytes": 6})
    assert answer.get("text") == "held 6 MB", answer
    assert live.invoke(MODULE, "hostile:deep_stack", {"megabytes": 8}).get("code") == "TOOL_CRASHED"


def test_the_address_space_has_an_end(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:dropped_untouched")["value"] <= (256 + 8 + 16 + 72) * MB


def test_memory_that_is_only_reserved_or_outside_of_the_process_is_not_to_be_had(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:refused")["value"] == []
    assert live.invoke(MODULE, "hostile:unreserved").get("code") == "MEMORY_LIMIT"


def test_a_check_and_an_import_ahead_of_calls_are_watched_too(live: LiveRunner) -> None:
    report = live.check("hostile", AT_IMPORT)
    assert not report["ok"]
    assert report["faults"][0]["kind"] == "import_memory"
    assert "was ended: it held" in report["faults"][0]["message"]
    assert live.invoke(AT_IMPORT, "hostile:hello").get("code") == "MEMORY_LIMIT"
    until(lambda: len(children_of(live.process.pid)) <= 40, "the end of what was ended")


def test_an_honest_tool_near_its_limit_is_left_alone(live: LiveRunner) -> None:
    assert live.invoke(MODULE, "hostile:honest").get("text") == "11 1000"


def test_without_limits_of_the_kernel_the_runner_ends_what_holds_too_much(who: str, canary: str) -> None:
    with watched_runner(who, canary, "--without=rlimits", TOOLRACK_RUNNER_MIN_ISOLATION="L0") as live:
        answer = live.invoke(MODULE, "hostile:unreserved")
    assert answer.get("code") == "MEMORY_LIMIT", answer
    assert "was ended: it held" in answer["error"]
