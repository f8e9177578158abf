"""Who takes all there is of something meets an end of it, and honest calls are answered meanwhile."""

import glob
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hostile.resident import resident_bytes
from hostile.test_kernel_memory import is_ended_for_threads
from hostile.uploads import HONEST, upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.process_tree import descendants_of
from support.until import until

FLOODS = upload(
    """
def forks() -> str:
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        try:
            os.fork()
        except OSError as error:
            seen = error.errno
    return str(seen)


def threads() -> int:
    made = 0
    try:
        for _ in range(10_000):
            threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
            made += 1
    except (RuntimeError, MemoryError):
        pass
    return made


def bytes_700_mb() -> str:
    return str(len(bytearray(700_000_000)))


def digits() -> str:
    return str(1 << 4_000_000_000)[:9]


def long_text() -> str:
    return "a" * 10**10


def many_lists() -> str:
    taken = []
    while True:
        taken.append([0] * 1_000)


def big_file() -> str:
    with open("big", "wb") as file:
        for _ in range(20):
            file.write(b"x" * 1_000_000)
    return "written"


def files_500() -> str:
    for number in range(500):
        with open(f"file-{number}", "wb") as file:
            file.write(b"x" * 4_096)
    return "written"


def nested(count: int = 10_000) -> str:
    for _ in range(count):
        os.mkdir("d")
        os.chdir("d")
    return "made"


def siblings(count: int = 10_000) -> str:
    for number in range(count):
        os.mkdir(f"d{number}")
    return "made"
""",
    *("forks", "threads", "bytes_700_mb", "digits", "long_text", "many_lists"),
    *("big_file", "files_500", "nested", "siblings"),
)


def test_forks_and_threads_end_before_their_threads_and_cost_no_honest_call(any_runner: LiveRunner) -> None:
    with ThreadPoolExecutor(8) as pool:
        began = time.monotonic()
        floods = [pool.submit(any_runner.invoke, FLOODS, "hostile:forks", tenant=f"{n}") for n in range(3)]
        floods += [pool.submit(any_runner.invoke, FLOODS, "hostile:threads", tenant=f"{n}") for n in range(3)]
        slowest = 0.0
        while not all(flood.done() for flood in floods):
            asked = time.monotonic()
            assert any_runner.invoke(HONEST, "hostile:hello", tenant="honest")["text"] == "hello"
            slowest = max(slowest, time.monotonic() - asked)
        assert slowest < 3
        assert time.monotonic() - began < 8  # Their threads sleep for 9 s.
    assert {flood.result()["text"] for flood in floods[:3]} == {"1"}
    assert all(is_ended_for_threads(flood.result()) for flood in floods[3:])
    until(lambda: any_runner.health()["children"]["alive"] < 80)


@pytest.mark.parametrize("tool", ["bytes_700_mb", "digits", "long_text", "many_lists"])
def test_memory_has_an_end(any_runner: LiveRunner, tool: str) -> None:
    before = resident_bytes(any_runner.process.pid)
    answer = any_runner.invoke(FLOODS, f"hostile:{tool}")
    assert answer["code"] == "MEMORY_LIMIT"
    assert answer["usage"]["maxRssBytes"] < 350 << 20
    assert resident_bytes(any_runner.process.pid) - before < 8 << 20


@pytest.mark.parametrize("tool", ["big_file", "files_500", "nested", "siblings"])
def test_the_disk_has_an_end(any_runner: LiveRunner, tool: str) -> None:
    assert any_runner.invoke(FLOODS, f"hostile:{tool}")["code"] == "DISK_LIMIT"


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(("tool", "count"), [("files_500", None), ("nested", 1_500), ("siblings", 5_000)])
def test_without_a_quota_what_was_written_is_gone_and_holds_nobody_up(
    who: str, tool: str, count: int | None, canary: str
) -> None:
    with watched_runner(who, canary, "--without=namespaces") as live:
        live.health()
        arguments = {} if count is None else {"count": count}
        assert live.invoke(FLOODS, f"hostile:{tool}", arguments)["outcome"] == "success"
        slowest = 0.0
        for number in range(8):
            asked = time.monotonic()
            # Limits of its own: no child of theirs waits, so the zygote must fork one.
            live.invoke(HONEST, "hostile:hello", limits={"cpuSeconds": 2 + number})
            slowest = max(slowest, time.monotonic() - asked)
        assert slowest < 3
        until(lambda: not glob.glob(f"/tmp/toolrack-runner-{live.process.pid}-*/*/*"), "an empty folder")


def test_nothing_of_a_flood_is_left(any_runner: LiveRunner) -> None:
    until(lambda: len(descendants_of(any_runner.process.pid)) < 100)
