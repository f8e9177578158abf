"""A process that serves several calls: whose calls it serves, what they share, and when it ends."""

import os
import secrets
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hostile.uploads import upload
from support.live_runner import LiveRunner, invocation, live_runner
from support.process_tree import children_of
from support.until import until


@pytest.fixture(scope="module", params=["as_started", "as_nobody"])
def any_runner(request: pytest.FixtureRequest) -> Iterator[LiveRunner]:
    """A runner with room for the children of all users here, so that none ends because of the children of another."""
    as_nobody = request.param == "as_nobody"
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with live_runner(environment={"TOOLRACK_RUNNER_POOL_MB": "4000"}, as_nobody=as_nobody) as live:
        yield live


#: Every answer is the process that has given it, and what the body returns.
TOOL = """
import asyncio, ctypes, gc, uuid

PROCESS = str(uuid.uuid4())
KEPT = []
"""


def module(*bodies: str, at_import: str = "") -> str:
    """A module with the tools `first`, `second` and so on. The body of each is given; `n` is their argument."""
    names = ("first", "second", "third")[: len(bodies)]
    code = TOOL + at_import
    for name, body in zip(names, bodies, strict=True):
        lines = "".join(f"    {line}\n" for line in (body or "pass").splitlines())
        code += f"\n\ndef {name}_body(n, context):\n{lines}"
        code += f"\n\ndef {name}(context: dict, n: int = 0) -> dict:\n"
        code += f"    return {{'process': PROCESS, 'value': {name}_body(n, context)}}\n"
    return upload(code, *names)


class User:
    """Calls of one user."""

    def __init__(self, live: LiveRunner, source: str, **more: Any) -> None:
        self.live = live
        self.source = source
        self.more = {"reuse": 100, "tenant": f"user-{secrets.token_hex(4)}"} | more

    def call(self, tool: str = "first", n: int = 0, **more: Any) -> dict[str, Any]:
        """The whole answer."""
        return self.live.invoke(self.source, f"hostile:{tool}", {"n": n}, **self.more | more)

    def process(self, tool: str = "first", n: int = 0, **more: Any) -> str:
        """Which process has answered."""
        answer = self.call(tool, n, **more)
        assert "value" in answer, answer
        process: str = answer["value"]["process"]
        return process


def test_one_process_serves_the_calls_of_a_user_and_its_globals_survive(any_runner: LiveRunner) -> None:
    user = User(any_runner, module("KEPT.append(n)\nreturn KEPT"))
    answers = [user.call(n=n) for n in range(4)]
    assert [answer["value"]["value"] for answer in answers] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert [answer.get("reused") for answer in answers] == [None, 1, 2, 3]


def test_it_serves_as_many_calls_as_were_asked_for(any_runner: LiveRunner) -> None:
    user = User(any_runner, module(""), reuse=3)
    processes = [user.process() for _ in range(7)]
    assert [processes.index(each) for each in processes] == [0, 0, 0, 3, 3, 3, 6]


BESIDE: dict[str, dict[str, Any]] = {
    "another user": {"tenant": "another"},
    "another session": {"session": "b"},
    "no session": {"session": None},
    "other limits": {"limits": {"memoryBytes": 128 << 20}},
    "another limit of processor time": {"limits": {"cpuSeconds": 9}},
    "other hosts": {"network": ["api.example.com"]},
    "another number of calls": {"reuse": 99},
    "a call for one process": {"reuse": 1},
    "secrets": {"context": {"secrets": {"KEY": "value"}}},
}


@pytest.mark.parametrize("other", BESIDE.values(), ids=BESIDE)
def test_it_never_serves_a_call_of(any_runner: LiveRunner, other: dict[str, Any]) -> None:
    user = User(any_runner, module(""), session="a")
    own = user.process()
    assert user.process(**other) != own
    assert user.process() == own
    assert user.process(**other) != own


def test_another_version_of_a_module_has_processes_of_its_own(any_runner: LiveRunner) -> None:
    user, newer = User(any_runner, module("")), User(any_runner, module("return 1"))
    newer.more = user.more
    assert len({user.process(), newer.process()}) == 2
    assert len({user.process(), newer.process()}) == 2


def test_a_call_right_after_another_users_call_never_meets_its_process(any_runner: LiveRunner) -> None:
    source = module("KEPT.append(n)\nreturn KEPT")
    users = [User(any_runner, source) for _ in range(3)]
    seen = [[user.call(n=at)["value"] for at, user in enumerate(users)] for _ in range(5)]
    for at, _ in enumerate(users):
        assert {each[at]["process"] for each in seen} == {seen[0][at]["process"]}
        assert seen[-1][at]["value"] == [at] * 5
    assert len({value["process"] for value in seen[0]}) == 3


def test_calls_at_the_same_time_have_each_a_process_and_later_calls_share_them(
    any_runner: LiveRunner,
) -> None:
    user = User(any_runner, module("time.sleep(n / 1_000)"))
    with ThreadPoolExecutor(4) as threads:
        first = list(threads.map(lambda _: user.process(n=400), range(4)))
        assert len(set(first)) == 4
        later = list(threads.map(lambda _: user.process(n=50), range(16)))
    assert {user.process() for _ in range(8)} <= {*first, *later}
    assert len(set(later) & set(first)) >= 2


HARMLESS = {
    "a changed environment": "os.environ['LEFT'] = '1'; os.environ.pop('HOME'); os.putenv('HOME', '/')",
    "another environment": "os.environ = {'LEFT': '1'}",
    "another working directory": "os.chdir('/')",
    "another umask": "os.umask(0)",
    "files": "os.makedirs('a/b'); open('a/b/c', 'w').write('x'); open('.cache/d', 'w').write('x')",
    "no folder for caches": "os.rmdir('.cache')",
    "a timer without a handler": "signal.setitimer(signal.ITIMER_REAL, 0.001 if n else 0.05)",
    "a timer of processor time": "signal.setitimer(signal.ITIMER_PROF, 0.001)",
    "an alarm": "signal.alarm(1)",
    "an atexit": "import atexit; atexit.register(lambda: print('LEFT', flush=True))",
    "a thread that has ended": "thread = threading.Thread(target=lambda: None); thread.start(); thread.join()",
    "a pool of threads that has ended": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    list(pool.map(abs, range(8)))"
    ),
    "an event loop that has ended": "async def work():\n    await asyncio.to_thread(abs, 1)\nasyncio.run(work())",
    "a closed file": "open('a', 'w').write('x')",
    "garbage in cycles": "for _ in range(1_000):\n    ring = []\n    ring.append(ring)",
    "progress": "for part in range(3):\n    context.progress(part / 3)",
    "a replaced json": "import json\njson.dumps = json.loads = json.JSONEncoder.encode = None",
    "a recursion limit": "sys.setrecursionlimit(500)",
    "a lot of output": "print('x' * 70_000)",
}
#: What a later call sees of its process.
SEES = """return [
    os.environ.get('LEFT'), os.environ.get('HOME') == os.getcwd(), type(os.environ).__name__,
    sorted(os.listdir('.')), os.listdir('.cache'), os.umask(0o077), signal.getitimer(signal.ITIMER_REAL),
]"""


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS)
def test_the_next_call_finds_nothing_of(any_runner: LiveRunner, body: str) -> None:
    user = User(any_runner, module(body, SEES))
    expected = [None, True, "_Environ", [".cache"], [], 0o077, [0.0, 0.0]]
    shared = 0
    for _ in range(4):
        own = user.process("first")
        seen = user.call("second")
        assert seen["value"]["value"] == expected
        assert seen["log"] == {"text": "", "truncated": False}
        # On a busy machine, a process may run a little after it was parked. Then it serves no other call.
        shared += seen["value"]["process"] == own
    assert shared


LEFT = {
    "a thread": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "a thread that spins": "threading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()",
    "a signal handler": "signal.signal(signal.SIGUSR2, lambda *_: None)",
    "an ignored signal": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a blocked signal": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
    "a timer with a handler": (
        "signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)"
    ),
    "an open file": "KEPT.append(open('left', 'w'))",
    "a pipe": "KEPT.append(os.pipe())",
    "an event loop": "KEPT.append(asyncio.new_event_loop())",
    "a pair of sockets": "import socket; KEPT.append(socket.socketpair())",
    "200 MB of garbage": "KEPT.append(bytearray(200 << 20))",
    "100 MB in a ring": "ring = [bytearray(100 << 20)]\nring.append(ring)\ngc.disable()",
    "a little more than a third of its memory": "KEPT.append(b'x' * (86 << 20))",
    "100 MB that are only reserved": "import mmap; KEPT.append(mmap.mmap(-1, 100 << 20, flags=0x22))",
    "nothing to tidy up with": "os.scandir = os.rmdir = os.unlink = None\nopen('left', 'w').close()",
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_a_process_serves_no_other_call_after_a_call_that_left(any_runner: LiveRunner, body: str) -> None:
    user = User(any_runner, module(body, ""))
    processes = [user.process("second"), user.process("first"), user.process("second"), user.process("first")]
    assert [processes.index(each) for each in processes] == [0, 0, 2, 2]
    assert user.process("second") not in processes


def test_memory_that_was_reserved_before_the_first_call_counts_when_it_is_used(
    any_runner: LiveRunner,
) -> None:
    at_import = "\nimport mmap\nROOM = mmap.mmap(-1, 100 << 20, flags=0x22)\n"
    user = User(any_runner, module("for at in range(0, n << 20, 4096): ROOM[at] = 1", at_import=at_import))
    processes = [user.process(n=n) for n in (0, 50, 0, 100, 0)]
    assert [processes.index(each) for each in processes] == [0, 0, 0, 0, 4]


def test_a_module_that_takes_all_descriptors_is_answered(any_runner: LiveRunner) -> None:
    at_import = """
try:
    while True:
        KEPT.append(os.dup(0))
except OSError:
    pass
"""
    user = User(any_runner, module("return len(KEPT)", at_import=at_import))
    answers = [user.call() for _ in range(6)]
    assert all(answer["value"]["value"] > 9 for answer in answers)
    assert not any("reused" in answer for answer in answers)


def test_what_the_import_leaves_may_stay(any_runner: LiveRunner) -> None:
    at_import = """
KEPT.append(open("/dev/null"))
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.signal(signal.SIGUSR2, lambda *_: None)
"""
    user = User(any_runner, module("", at_import=at_import))
    assert len({user.process() for _ in range(8)}) == 1


FAILS = {
    "an exception": "raise ValueError('x')",
    "a result that is none": "return object()",
    "a result that is too large": "return 'x' * (1 << 21)",
    "an exit": "os._exit(3)",
    "a crash": "ctypes.string_at(0)",
    "a closed channel of its answer": "os.close(channel())",
    "a channel that is shut down": "import socket; socket.socket(fileno=channel()).shutdown(socket.SHUT_RDWR)",
    "two answers": "write(frame({'answer': {'text': 'x', 'call': 1}}) * 2); time.sleep(9)",
    "an answer to an earlier call": "say({'answer': {'text': 'x'}}); time.sleep(9)",
    "an answer to a later call": "say({'answer': {'text': 'x', 'call': 2}}); time.sleep(9)",
    "an answer to its call and to the next": (
        "write(frame({'answer': {'text': 'x', 'call': 1}}) + frame({'answer': {'text': 'y', 'call': 2}})); time.sleep(9)"
    ),
    "that it has rested, before its answer": "say({'rested': 1}); time.sleep(9)",
    "that it has rested, with its result to come": "say({'rested': 1})",
}


@pytest.mark.parametrize("body", FAILS.values(), ids=FAILS)
def test_a_process_serves_no_other_call_after(any_runner: LiveRunner, body: str) -> None:
    user = User(any_runner, module("", body), limits={"outputBytes": 1 << 20})
    own = user.process()
    failed = user.call("second")
    assert (failed["outcome"], failed["reused"]) == ("failure", 1), failed
    if "answer" in body or "rested" in body or "channel" in body:
        assert failed["code"] in {"RESULT_INVALID", "TOOL_CRASHED"}, failed
    assert user.process() != own


def test_wrong_arguments_and_an_unknown_tool_end_it_too(any_runner: LiveRunner) -> None:
    user = User(any_runner, module(""))
    own = user.process()
    assert (
        any_runner.invoke(user.source, "hostile:first", {"m": 1}, **user.more)["code"] == "ARGUMENTS_INVALID"
    )
    other = user.process()
    assert user.call("nothing")["code"] == "TOOL_NOT_FOUND"
    assert len({own, other, user.process()}) == 3


def test_one_that_forges_its_answer_and_rest_answers_no_other_user(any_runner: LiveRunner) -> None:
    """Its handler goes on when the next call comes. This call is of the same user, and of the same module."""
    forged = "say({'answer': {'text': 'forged'}}); say({'rested': 0}); time.sleep(9)"
    source = module(forged, "")
    hostile, honest = User(any_runner, source), User(any_runner, source)
    assert hostile.call("first", reuse=100)["text"] == "forged"
    assert honest.process("second") == honest.process("second")
    assert hostile.call("second", deadlineMs=300).get("code") in {"DEADLINE_EXCEEDED", "RESULT_INVALID", None}
    assert hostile.process("second") == hostile.process("second")


def test_a_message_while_it_is_parked_ends_it(any_runner: LiveRunner) -> None:
    body = (
        "write(frame({'answer': {'text': 'x'}}) + frame({'rested': 0}) + frame({'rested': 0})); time.sleep(9)"
    )
    user = User(any_runner, module(body, ""))
    user.call()
    later = user.call("second")
    assert "reused" not in later
    assert "process" in later["value"]


def test_what_it_prints_while_it_is_parked_ends_it_and_reaches_no_other_call(any_runner: LiveRunner) -> None:
    """On a busy machine it may be stopped before it prints. Then it prints during its user's next call, as any tool may."""
    forged = (
        "say({'answer': {'text': 'x'}}); say({'rested': 0}); time.sleep(0.006)\n"
        "print(time.monotonic()); time.sleep(9)"
    )
    source = module(forged, "")

    def is_reused() -> bool:
        user = User(any_runner, source)
        before = children_of(any_runner.process.pid)
        user.call()
        until(
            lambda: stopped(new := children_of(any_runner.process.pid) - before) == new,
            "the stop of all that wait",
        )
        asked = time.monotonic()
        later = user.call("second")
        printed = later["log"]["text"].split()
        assert all(float(each) > asked for each in printed), (asked, later)
        return "reused" in later

    until(lambda: not is_reused(), "the end of one that has printed")


def test_one_that_has_not_read_all_that_it_was_sent_serves_no_other_call(any_runner: LiveRunner) -> None:
    """A connection may wait there."""
    forged = (
        "write(frame({'connect': {'host': 'other.example', 'port': 443}}) + frame({'answer': {'text': 'x'}})"
        " + frame({'rested': 0})); time.sleep(9)"
    )
    user = User(any_runner, module(forged, ""), network=["api.example.com"])
    assert user.call()["text"] == "x"
    assert "reused" not in user.call("second")


@pytest.mark.parametrize("works", ["time.sleep(9)", "while True: pass"])
def test_a_call_does_not_wait_long_for_one_that_does_not_rest(any_runner: LiveRunner, works: str) -> None:
    user = User(any_runner, module(f"say({{'answer': {{'text': 'x'}}}})\n{works}", ""))
    assert user.call()["text"] == "x"
    # Less than the second for which a process that gets no processor may tidy up.
    assert "process" in user.call("second", deadlineMs=950).get("value", {})


def test_one_that_behaves_well_and_then_hangs_is_ended_and_the_next_call_is_answered(
    any_runner: LiveRunner,
) -> None:
    user = User(any_runner, module("while n == 99: time.sleep(9)"))
    assert len({user.process(n=n) for n in range(99)}) == 1
    hung = user.call(n=99, deadlineMs=200)
    assert (hung["code"], hung["reused"]) == ("DEADLINE_EXCEEDED", 99)
    assert "reused" not in user.call()


def test_one_that_is_killed_between_two_calls_is_not_missed(runner: LiveRunner) -> None:
    user = User(runner, module("return os.getpid()"))
    before = children_of(runner.process.pid)
    own = user.process()
    assert user.process() == own

    def is_parked() -> bool:
        return len(stopped(children_of(runner.process.pid) - before)) >= 1

    until(is_parked, "the stop of the process")
    killed = children_of(runner.process.pid)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not killed & children_of(runner.process.pid), "the ends of all that waited")
    answer = user.call()
    assert answer["value"]["process"] != own
    assert "reused" not in answer


def stopped(pids: set[int]) -> set[int]:
    """Those of them that the kernel has stopped."""
    found = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "T":
                    found.add(pid)
        except OSError:
            continue
    return found


def test_between_calls_it_is_stopped(runner: LiveRunner) -> None:
    user = User(runner, module("time.sleep(n / 1_000)"))
    before = children_of(runner.process.pid)
    user.process()
    until(
        lambda: (new := children_of(runner.process.pid) - before) != set() and stopped(new) == new,
        "the stop of all that wait",
    )


def test_usage_and_log_are_those_of_the_call(any_runner: LiveRunner) -> None:
    body = "print('call', n)\nend = time.process_time() + n / 1_000\nwhile time.process_time() < end: pass"
    user = User(any_runner, module(body))
    busy, idle = user.call(n=300), user.call(n=0)
    assert (busy["log"]["text"], idle["log"]["text"]) == ("call 300\n", "call 0\n")
    assert busy["usage"]["cpuMs"] > 250
    assert idle["usage"]["cpuMs"] < 150
    assert idle["reused"] == 1


def test_memory_is_that_of_the_call(any_runner: LiveRunner) -> None:
    user = User(any_runner, module("data = bytearray(n << 20)\nreturn len(data)"))
    large, small = user.call(n=60), user.call(n=0)
    assert large["usage"]["maxRssBytes"] > 60 << 20
    assert small["usage"]["maxRssBytes"] < 60 << 20
    assert small["reused"] == 1


SPIN = "end = time.process_time() + n / 1_000\nwhile time.process_time() < end: pass"


def test_all_its_calls_together_use_no_more_processor_time_than_one_may_or_it_ends(
    any_runner: LiveRunner,
) -> None:
    user = User(any_runner, module(SPIN), limits={"cpuSeconds": 1})
    processes = [user.process(n=450) for _ in range(4)]
    # The third call begins with 0.9 s of the one second, and may use a whole second itself.
    assert [processes.index(each) for each in processes] == [0, 0, 0, 3]


def test_a_call_that_uses_too_much_processor_time_is_ended_at_the_limit_of_one_call(
    any_runner: LiveRunner,
) -> None:
    user = User(any_runner, module(SPIN), limits={"cpuSeconds": 1}, deadlineMs=60_000)
    user.process(n=500)
    answer = user.call(n=60_000)
    assert (answer["code"], answer["reused"]) == ("CPU_LIMIT", 1)
    assert "it used up 1 s of processor time" in answer["error"]
    assert 900 < answer["usage"]["cpuMs"] < 1_500


def test_events_of_each_call_are_its_own(any_runner: LiveRunner) -> None:
    body = "for part in range(3):\n    print(n, part)\n    context.progress(part / 3, str(n))\n    time.sleep(0.03)"
    user = User(any_runner, module(body))
    for n in range(3):
        asked = invocation(user.source, "hostile:first", {"n": n}, **user.more)
        answer = any_runner.client.post("/invoke", json=asked, headers={"Accept": "application/x-ndjson"})
        assert answer.status_code == 200
        assert f'"text":"{n}"' in answer.text
        assert not any(f'"text":"{other}"' in answer.text for other in range(3) if other != n)
        assert f'"reused":{n}' in answer.text or n == 0


def test_a_deleted_module_has_no_parked_process(any_runner: LiveRunner) -> None:
    user = User(any_runner, module(""))
    own = user.process()
    asked = invocation(user.source, "hostile:first")
    body = {"module": "hostile", "sha256": asked["sha256"], "tenant": user.more["tenant"]}
    until(lambda: user.process() == own, "the parked process")
    assert any_runner.client.post("/forget", json=body).status_code == 204
    assert user.process() != own


def test_a_module_that_is_deleted_during_a_call_keeps_no_process(any_runner: LiveRunner) -> None:
    user = User(any_runner, module("time.sleep(n / 1_000)"))
    own = user.process()
    sha256 = invocation(user.source, "hostile:first")["sha256"]
    body = {"module": "hostile", "sha256": sha256, "tenant": user.more["tenant"]}
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(user.process, n=500)
        until(lambda: any_runner.health()["calls"]["running"] == 1, "the call")
        assert any_runner.client.post("/forget", json=body).status_code == 204
        assert user.process() not in {own, running.result()}


def test_an_operator_switches_it_off() -> None:
    with live_runner(environment={"TOOLRACK_REUSE": "off"}) as live:
        user = User(live, module(""))
        answers = [user.call() for _ in range(3)]
        assert len({answer["value"]["process"] for answer in answers}) == 3
        assert not any("reused" in answer for answer in answers)


@pytest.mark.parametrize(
    "more",
    [
        {"reuse": 0},
        {"reuse": 1_001},
        {"reuse": True},
        {"reuse": "2"},
        {"reuse": 2.5},
        {"session": 7},
        {"session": ""},
        {"session": "x" * 257},
    ],
    ids=str,
)
def test_what_is_no_number_of_calls_or_no_session_is_refused(
    runner: LiveRunner, more: dict[str, Any]
) -> None:
    answer = runner.client.post("/invoke", json=invocation(module(""), "hostile:first", **more))
    assert answer.status_code == 400
    assert next(iter(more)) in answer.json()["error"]["message"]
