"""What one call leaves behind is nothing, and no other call can be reached from it."""

import glob

import pytest

from hostile.uploads import HONEST, upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.until import until

POISONS = upload(
    """
import builtins, json as json_module, math


def poison() -> None:
    builtins.len = lambda _: 0
    builtins.open = builtins.print = None
    sys.modules["math"] = sys.modules["os"] = None
    math.pi = 3
    json_module.dumps = json_module.loads = None
    sys.path.insert(0, os.getcwd())
    with os.fdopen(os.open("sitecustomize.py", os.O_CREAT | os.O_WRONLY), "w") as file:
        file.write("raise SystemExit")
    for place in ("/dev/shm", "/tmp", "/var/tmp", os.getcwd()):
        try:
            os.close(os.open(f"{place}/left-behind-by-a-tool", os.O_CREAT | os.O_WRONLY))
        except OSError:
            pass
    os.environ["LEFT"] = "behind"
    os.write(1, b"poisoned")
""",
    "poison",
)
INSPECTS = upload(
    """
import math


def inspect() -> list:
    seen = [len([1]), math.pi > 3.1, sys.modules.get("os") is os, json.loads("1"), os.environ.get("LEFT")]
    return [*seen, sorted(os.listdir(".")), os.listdir(".cache"), os.path.exists("/dev/shm/left-behind-by-a-tool")]
""",
    "inspect",
)
UNHURT: list[object] = [1, True, True, 1, None, [".cache"], [], False]


@pytest.mark.parametrize("tenant", ["the same", "another"])
def test_a_call_finds_nothing_of_the_one_before(any_runner: LiveRunner, tenant: str) -> None:
    for _ in range(6):
        # What it answers with such a process is its own affair.
        assert any_runner.invoke(POISONS, "hostile:poison", tenant="the same")["log"]["text"] == "poisoned"
        assert any_runner.invoke(INSPECTS, "hostile:inspect", tenant=tenant)["value"] == UNHURT
    assert (
        not glob.glob("/dev/shm/left-behind*")
        + glob.glob("/tmp/left-behind*")
        + glob.glob("/var/tmp/left-behind*")
    )


def test_no_shared_memory_is_left(any_runner: LiveRunner) -> None:
    before = segments()
    source = upload(
        """
import ctypes


def share() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.shmget(0x1234, 4096, 0o1666)
""",
        "share",
    )
    assert any_runner.invoke(source, "hostile:share")["value"] == -1
    assert segments() == before


def segments() -> str:
    with open("/proc/sysvipc/shm") as file:
        return file.read()


@pytest.mark.parametrize("who", EVERYBODY)
def test_the_folder_of_another_call_is_not_read_and_gone_when_it_is(who: str, canary: str) -> None:
    writes = upload(
        f"""
def write_it() -> str:
    with open("secret", "w") as file:
        file.write("{canary}")
    os.mkdir("locked")
    os.symlink  # Denied; a folder without rights is not.
    os.chmod("locked", 0)
    return os.getcwd()
""",
        "write_it",
    )
    reads = upload(
        """
def read_it(folder: str) -> list:
    seen = []
    for number in range(20):
        if os.getcwd().endswith(f"/{number}"):
            continue
        for path in (f"{folder}/../{number}/secret", f"{folder}/../{number}", f"{folder}/..", "../.."):
            try:
                seen.append(os.listdir(path) if os.path.isdir(path) else open(path).read())
            except OSError as error:
                seen.append(error.errno)
    return seen
""",
        "read_it",
    )
    with watched_runner(who, canary, "--without=namespaces") as live:
        folder = live.invoke(writes, "hostile:write_it")["text"]
        seen = live.invoke(reads, "hostile:read_it", {"folder": folder})["value"]
        assert canary not in str(seen)
        assert all(isinstance(each, int) for each in seen)
        base = folder.rpartition("/")[0]
        # A slot's folder stays for the slot's next child; what was in it does not.
        until(lambda: not glob.glob(f"{base}/*/*"), "an empty folder")
    assert not glob.glob(base)


def test_no_other_process_is_seen(any_runner: LiveRunner) -> None:
    source = upload(
        """
import resource


def inspect() -> list:
    seen = set()
    asks = (
        os.getsid,
        os.getpgid,
        lambda pid: os.kill(pid, 0),
        lambda pid: os.getpriority(os.PRIO_PROCESS, pid),
        lambda pid: time.clock_gettime(((~pid) << 3) | 2),
        lambda pid: time.clock_getres(((~pid) << 3) | 2),
        lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU),
        lambda pid: os.stat(f"/proc/{pid}"),
        os.pidfd_open,
    )
    for pid in range(1, 400):
        for number, ask in enumerate(asks):
            try:
                if pid != os.getpid():
                    ask(pid)
                    seen.add(number)
            except (OSError, ValueError):
                pass
    return sorted(seen)
""",
        "inspect",
    )
    assert any_runner.invoke(source, "hostile:inspect")["value"] == []


def test_an_honest_call_is_unhurt(any_runner: LiveRunner) -> None:
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="the same")["text"] == "hello"
