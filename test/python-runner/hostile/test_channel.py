"""Whatever a module writes to the channel of its answer harms nobody but its own call."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hostile.resident import resident_bytes, resident_bytes_max
from hostile.uploads import HONEST, upload
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.process_tree import processes, zygotes_of
from support.until import until


def uploaded(body: str, *, at_import: str = "pass") -> str:
    """A module whose tool `attack` does this."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return upload(f"{at_import}\n\n\ndef attack():\n{lines}\n    time.sleep(9)", "attack")


NOT_A_RESULT = {
    "pickle": r"say(b'\x80\x04\x95\x1b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93.')",
    "invalid UTF-8": r"""say(b'{"answer": {"json": "\xff"}}')""",
    "a lone surrogate": r"""say(b'{"answer": {"json": "\\ud800"}}')""",
    "200,000 levels": "say(b'[' * 200_000 + b']' * 200_000)",
    "200,000 levels in the result": "say({'answer': {'json': '[' * 200_000 + ']' * 200_000}})",
    "NaN": """say(b'{"answer": {"json": NaN}}')""",
    "NaN in the result": "say({'answer': {'json': 'NaN'}})",
    "two objects": """say(b'{"answer": {"json": "1"}} {"answer": {"json": "2"}}')""",
    "two objects in the result": "say({'answer': {'json': '1 2'}})",
    "two answers": "write(frame({'answer': {'json': '1'}}) * 2)",
    "an answer and the start of another": "write(frame({'answer': {'json': '1'}}) + b'x')",
    "nothing": "say(b'')",
    "a list": "say([])",
    "no answer": "say({'ok': True, 'outcome': 'success', 'text': 'yes'})",
    "an answer of no shape": "say({'answer': {'text': 1, 'json': [], 'code': {}}})",
    "a code that is main's to give": "say({'answer': {'code': 'CPU_LIMIT', 'error': 'no'}})",
    "a code that does not exist": "say({'answer': {'code': 'OK', 'error': 'yes'}})",
    "a failure of the jail": "say({'failed': 'not my fault'})",
    "that it is imported, twice": "say({'ready': True}); say({'ready': True})",
    "a stage of a check": "say({'stage': {'stage': 'parsed', 'ok': True}})",
    "the sights of twins": "say({'sights': {}})",
    "a million messages": "[write(frame({'ready': True}) * 10_000) for _ in range(100)]",
}


@pytest.mark.parametrize("body", NOT_A_RESULT.values(), ids=NOT_A_RESULT)
def test_what_is_not_a_result_is_told_as_none(any_runner: LiveRunner, body: str) -> None:
    answer = any_runner.invoke(uploaded(body), "hostile:attack")
    assert answer["code"] == "RESULT_INVALID", answer


@pytest.mark.parametrize(
    "body",
    [
        "write((1 << 30).to_bytes(4, 'big'))",
        "write((0xFFFFFFFF).to_bytes(4, 'big') + b'{}')",
        "for _ in range(1 << 10): write(b'\\x01\\x3f' + b'x' * (1 << 20))",
    ],
    ids=["1 GB announced", "4 GB announced", "1 GB sent"],
)
def test_more_than_a_result_may_be_is_not_waited_for(any_runner: LiveRunner, body: str) -> None:
    before = resident_bytes(any_runner.process.pid)
    answer = any_runner.invoke(uploaded(body), "hostile:attack")
    assert answer["code"] in {"RESULT_TOO_LARGE", "RESULT_INVALID"}
    assert resident_bytes_max(any_runner.process.pid) < 256 << 20
    assert resident_bytes(any_runner.process.pid) - before < 32 << 20


@pytest.mark.parametrize(
    "body",
    [
        "write((100).to_bytes(4, 'big') + b'{')",
        "data = frame({'answer': {'json': '1'}})\nfor byte in data[:-1]: write(bytes([byte])); time.sleep(0.001)",
        "write(b'\\0')",
        "pass",
    ],
    ids=["a lying length", "drip by drip", "a part of a length", "silence"],
)
def test_half_an_answer_ends_at_the_deadline(any_runner: LiveRunner, body: str) -> None:
    # Another user: the calls before, which send a lot, make their user wait, and a wait counts against the deadline.
    module = uploaded(body)
    answer = any_runner.invoke(module, "hostile:attack", deadlineMs=250, tenant="half")
    assert answer["code"] == "DEADLINE_EXCEEDED", answer
    assert answer["usage"]["wallMs"] < 5_000


@pytest.mark.parametrize("end", ["SHUT_RDWR", "SHUT_WR"])
def test_a_channel_that_is_closed_ends_the_call_at_once(any_runner: LiveRunner, end: str) -> None:
    body = f"import socket\nsocket.socket(fileno=channel()).shutdown(socket.{end})"
    answer = any_runner.invoke(uploaded(body), "hostile:attack")
    assert answer["code"] == "RESULT_INVALID"
    assert answer["usage"]["wallMs"] < 5_000


SENDS_DESCRIPTORS = """import array, socket
line = socket.socket(fileno=os.dup(channel()))
held = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(20)])
answer = frame({"answer": {"text": "sent"}})
try:
    socket.SocketType.sendmsg(line, [answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
except PermissionError:
    return "denied"
"""


def test_descriptors_can_not_be_sent_along(any_runner: LiveRunner) -> None:
    assert any_runner.invoke(uploaded(SENDS_DESCRIPTORS), "hostile:attack").get("text") == "denied"


@pytest.mark.parametrize("who", EVERYBODY)
def test_without_the_filter_descriptors_that_are_sent_along_do_not_arrive(who: str, canary: str) -> None:
    switches = {"TOOLRACK_RUNNER_MIN_ISOLATION": "L0"}
    with watched_runner(who, canary, "--without=seccomp", **switches) as live:
        before = descriptors_of(live)
        assert live.invoke(uploaded(SENDS_DESCRIPTORS), "hostile:attack").get("text") == "sent"
        until(lambda: descriptors_of(live) <= before + 12, "the end of what came with the answer")


def descriptors_of(live: LiveRunner) -> int:
    """How many descriptors the runner has, but for those of children that are being made."""
    return len(os.listdir(f"/proc/{live.process.pid}/fd"))


def test_an_answer_given_before_being_asked_answers_that_module_alone(any_runner: LiveRunner) -> None:
    source = uploaded("pass", at_import="say({'ready': True}); say({'answer': {'text': 'early'}})")
    for _ in range(4):
        any_runner.invoke(source, "hostile:hello", tenant="early", deadlineMs=1_000)
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="early")["text"] == "hello"


PACKAGES = ("anyio", "click", "h11", "httptools", "idna", "orjson", "starlette", "uvicorn", "uvloop")


def test_no_module_has_zygotes_started_by_what_it_says(any_runner: LiveRunner) -> None:
    source = upload(
        """
def attack(first: str, second: str) -> None:
    say({"imports": [first, second]})
    time.sleep(9)
""",
        "attack",
    )
    any_runner.invoke(source, "hostile:hello", tenant="starter")
    until(lambda: any_runner.health()["children"]["waiting"] > 0)
    before = zygotes_of(any_runner.process.pid)
    for number in range(4):
        said = {"first": PACKAGES[number], "second": PACKAGES[-1]}
        any_runner.invoke(source, "hostile:attack", said, tenant="starter", deadlineMs=500)
        time.sleep(0.05)
    # A child that has no session yet looks like one; a zygote would stay.
    until(lambda: not zygotes_of(any_runner.process.pid) - before, "no zygote but those there were")


def test_no_module_ends_the_calls_of_another_by_the_packages_it_imports(canary: str) -> None:
    def imports(package: str) -> str:
        return upload(
            f"import {package}\n\n\ndef rest(seconds: float) -> int:\n    time.sleep(seconds)\n    return 1",
            "rest",
        )

    victim = imports(PACKAGES[0])
    with watched_runner("as_started", canary) as live, ThreadPoolExecutor() as threads:
        plain = zygotes_of(live.process.pid)

        def next_call_is_of_the_package() -> bool:
            live.invoke(victim, "hostile:rest", {"seconds": 0})
            time.sleep(0.05)
            # From the zygote without packages come two children for any module, and none that waits for this one.
            with_package = children_below(zygotes_of(live.process.pid) - plain)
            return bool(with_package) and len(children_below(plain)) <= 2

        until(next_call_is_of_the_package, "a child that waits with the package")
        of_packages = zygotes_of(live.process.pid) - plain
        call = threads.submit(live.invoke, victim, "hostile:rest", {"seconds": 5}, deadlineMs=60_000)
        until(lambda: live.health()["calls"]["running"] == 1)
        for package in PACKAGES[1:7]:
            live.invoke(imports(package), "hostile:rest", {"seconds": 0}, tenant="attacker")
        # Its own zygotes made room for each other. Now the victim asks for more than the attacker has.
        assert all(os.path.exists(f"/proc/{pid}") for pid in of_packages)
        for package in PACKAGES[7:]:
            live.invoke(imports(package), "hostile:rest", {"seconds": 0})
        assert call.result().get("value") == 1
        until(
            lambda: not any(os.path.exists(f"/proc/{pid}") for pid in of_packages), "the end of that zygote"
        )


def children_below(zygotes: set[int]) -> set[int]:
    """What was forked from some zygotes and waits for a call."""
    return {each.pid for each in processes() if each.parent in zygotes and each.session == each.pid}


@pytest.mark.parametrize(
    "body",
    [
        "say(b'{\"x\": [' + b'[],' * 6_000_000 + b'[]]}')",
        "say({'answer': {'json': '[' + '[],' * 3_000_000 + '[]]'}})",
        "say({'answer': {'json': '[' + '\"\",' * 2_000_000 + '1]'}})",
    ],
    ids=["in the message", "in the result", "texts"],
)
def test_what_would_be_large_when_it_is_parsed_is_not_parsed(any_runner: LiveRunner, body: str) -> None:
    any_runner.invoke(HONEST, "hostile:hello")
    before = resident_bytes_max(any_runner.process.pid)
    answer = any_runner.invoke(uploaded(body), "hostile:attack", limits={"memoryBytes": 1 << 30})
    assert answer["code"] == "RESULT_TOO_LARGE"
    assert resident_bytes_max(any_runner.process.pid) - before < 128 << 20


def test_what_looks_large_and_is_a_text_is_passed_on(any_runner: LiveRunner) -> None:
    source = upload("def table() -> list:\n    return ['a,[{\"' * 1_000_000]", "table")
    assert any_runner.invoke(source, "hostile:table")["value"] == ['a,[{"' * 1_000_000]


def test_the_runner_still_answers(any_runner: LiveRunner) -> None:
    assert any_runner.invoke(HONEST, "hostile:hello")["text"] == "hello"
    assert any_runner.health()["status"] == "ok"
    socket.create_connection((any_runner.client.base_url.host, any_runner.client.base_url.port or 0)).close()
