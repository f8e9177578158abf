"""What a module forges on its channel is that module's failure: the runner answers 200, and everybody else's calls go on."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hostile.uploads import HONEST, PREAMBLE, upload
from support.live_runner import LiveRunner, invocation

#: Above what `orjson` can write, and what the service should have to read.
DEEP = "'[' * 1_000 + ']' * 1_000"
TELLS = "what came back over the channel is not a result"

DURING_THE_CALL = {
    "imports": "say({'imports': [['x']], 'code': None})",
    "imports of the right shape": "say({'imports': ['orjson'], 'code': None})",
    "a failure of the runner": "say({'failed': 'SECRET TEXT'})",
    "a start": "say({'starting': True})",
    "the end of an import": "say({'ready': {'hostile:attack': 0}})",
    "places of no kind": "say({'ready': [[]]})",
    "a report": "say({'stage': {'stage': 'parsed', 'ok': True}})",
    "the end of a check": "say({'done': True})",
    "sights": "say({'sights': {'connect_tcp': 'EPERM'}})",
    "a connection without a network": "say({'connect': {'host': 'a.example', 'port': 443}})",
    "values of a call that is not streamed": "say({'values': ['1']})",
    "progress above 1": "say({'progress': {'fraction': 1.5, 'text': ''}})",
    "progress that is no number": 'write(frame(b\'{"progress": {"fraction": NaN, "text": ""}}\'))',
    "progress with much text": "say({'progress': {'fraction': 1, 'text': 'x' * 1_001}})",
    "progress after the answer": (
        "write(frame({'answer': {'text': 'x'}}) + frame({'progress': {'fraction': 1, 'text': ''}}))"
    ),
    "progress without end": "while True: say({'progress': {'fraction': 1, 'text': ''}})",
    "a deep message": f"write(frame(({DEEP}).encode()))",
    "an error without bound": "say({'answer': {'code': 'TOOL_RAISED', 'error': 'x' * 1_000_000}})",
    "a code that is a list": "say({'answer': {'code': ['TOOL_RAISED'], 'error': ''}})",
    "keys that nobody reads": "say({'answer': {'text': 'x', 'outcome': 'success'}})",
    "an answer and a failure": "say({'answer': {'text': 'x'}, 'failed': 'SECRET TEXT'})",
}


def attack(body: str) -> str:
    """A module whose tool does this."""
    return upload(f"def attack():\n    {body}\n    time.sleep(9)", "attack")


def answered(live: LiveRunner, source: str, **more: Any) -> dict[str, Any]:
    """What a call of `attack` answers: never another status than 200."""
    answer = live.client.post("/invoke", json=invocation(source, "hostile:attack", **more))
    assert answer.status_code == 200, answer.text
    outcome: dict[str, Any] = answer.json()
    assert live.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"
    return outcome


@pytest.mark.parametrize("body", DURING_THE_CALL.values(), ids=DURING_THE_CALL)
def test_what_is_forged_during_a_call_is_the_tool_s_failure(any_runner: LiveRunner, body: str) -> None:
    source = attack(body)
    for _ in range(2):  # Cold, and from a child that waited.
        answer = answered(any_runner, source)
        assert answer["code"] == "RESULT_INVALID", answer
        assert TELLS in answer["error"]
        assert "SECRET TEXT" not in str(answer)


HOSTS_OF_NO_KIND = [
    "localhost..",
    "localhost...",
    "a" * 64,
    "xn--\x00",
    "münchen.example",
    "",
    1,
    None,
    ["a"],
    {},
]


@pytest.mark.parametrize("host", HOSTS_OF_NO_KIND, ids=ascii)
def test_a_wish_for_what_is_no_host_is_the_tool_s_failure(any_runner: LiveRunner, host: object) -> None:
    wish = json.dumps({"connect": {"host": host, "port": 443}})
    answer = answered(any_runner, attack(f"say({wish.encode()!r})"), network=["localhost"])
    assert answer["code"] == "RESULT_INVALID", answer


def test_a_second_wish_before_the_reply_is_the_tool_s_failure(any_runner: LiveRunner) -> None:
    body = "wish = frame({'connect': {'host': 'localhost', 'port': 443}}); write(wish * 2)"
    answer = answered(any_runner, attack(body), network=["localhost"])
    assert answer["code"] == "RESULT_INVALID", answer


AT_THE_IMPORT = {
    "a failure of the runner": "say({'failed': 'SECRET TEXT'})",
    "imports": "say({'imports': [['x']], 'code': None})",
    "no JSON": "say(b'x')",
    "a wish": "say({'connect': {'host': 'localhost', 'port': 443}})",
    "a result": "say({'answer': {'text': 'early'}})",
}


@pytest.mark.parametrize("body", AT_THE_IMPORT.values(), ids=AT_THE_IMPORT)
def test_what_is_forged_at_the_import_is_the_tool_s_failure_each_time(
    any_runner: LiveRunner, body: str
) -> None:
    source = upload(f"{body}\n\n\ndef attack():\n    return 'reached'", "attack")
    for _ in range(3):
        answer = answered(any_runner, source, network=["localhost"])
        assert answer["code"] == "RESULT_INVALID", answer
        assert "SECRET TEXT" not in str(answer)


@pytest.mark.parametrize(
    "message", [{"failed": "SECRET TEXT"}, {"imports": [["x"]], "code": None}], ids=["failed", "imports"]
)
def test_what_a_module_forges_that_is_known_already_is_the_tool_s_failure(
    any_runner: LiveRunner, message: dict[str, Any]
) -> None:
    """
    The first child tells its code like any other; those after it are told it, and forge what would come before it. A call
    takes so long that one reused child cannot serve all four, one after the other.
    """
    source = upload(
        f"""
caller = sys._getframe()
while caller and caller.f_code.co_name != "load_known":
    caller = caller.f_back
if caller:
    time.sleep(0.3)  # Meanwhile calls come that find nobody who waits.
    say({message!r})
    time.sleep(9)


def attack():
    time.sleep(1)
    return "reached"
""",
        "attack",
    )
    assert answered(any_runner, source, tenant="known")["text"] == "reached"
    body = invocation(source, "hostile:attack", tenant="known")
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: any_runner.client.post("/invoke", json=body), range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    codes = {answer.json().get("code") for answer in answers}
    assert codes <= {"RESULT_INVALID", None}, codes
    assert "RESULT_INVALID" in codes
    assert not any("SECRET TEXT" in answer.text for answer in answers)


@pytest.mark.parametrize("levels", [100, 101, 1_000])
def test_a_result_is_nested_as_deep_as_the_documentation_says_and_no_deeper(
    any_runner: LiveRunner, levels: int
) -> None:
    forged = answered(any_runner, attack(f"say({{'answer': {{'json': '[' * {levels} + ']' * {levels}}}}})"))
    honest = answered(
        any_runner,
        upload(
            f"def attack():\n    value = []\n    for _ in range({levels - 1}): value = [value]\n    return value",
            "attack",
        ),
    )
    for answer in (forged, honest):
        if levels <= 100:
            assert json.dumps(answer["value"]) == "[" * levels + "]" * levels
        else:
            assert answer["code"] == "RESULT_INVALID"
            assert "nested deeper than" in answer["error"]


TOOL = (
    "{'name': 'hostile:t', 'accepted': True, 'faults': [], 'notes': [], 'examples': [], 'description': '', "
    "'parameters': PARAMETERS, 'derived': [], 'annotations': None, 'timeoutSeconds': None, 'secrets': [], 'network': []}"
)
REPORT = "{'stage': 'imported', 'ok': True, 'faults': [], 'notes': [], 'imports': [], 'missingImports': [], 'tools': [TOOL]}"
DEEP_REPORT = (
    'say(json.dumps({"stage": '
    + REPORT.replace("TOOL", TOOL.replace("PARAMETERS", "'DEEP'"))
    + """}).replace('"DEEP"', '{"a":' * 900 + '1' + '}' * 900).encode())"""
)
IN_A_CHECK = {
    "deep parameters": DEEP_REPORT,
    "a failure of the runner": "say({'failed': 'SECRET TEXT'})",
    "an answer": "say({'answer': {'text': 'x'}})",
    "an example before the import": "say({'stage': {'stage': 'running', 'tool': 'hostile:t', 'example': 0, 'line': 1}})",
    "the end before the report": "say({'done': True})",
    "the first report again": "say({'stage': {'stage': 'parsed'}})",
}


@pytest.mark.parametrize("body", IN_A_CHECK.values(), ids=IN_A_CHECK)
def test_what_is_forged_in_a_check_is_the_module_s_fault(any_runner: LiveRunner, body: str) -> None:
    source = f"{PREAMBLE}\n{body}\ntime.sleep(9)\nTOOL_SPECS = []\n"
    answer = any_runner.client.post(
        "/check", json={"name": "hostile", "source": source, "deadlineMs": 30_000}
    )
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert not report["ok"]
    assert "it wrote to the channel of the report" in report["faults"][0]["message"]
    assert "SECRET TEXT" not in answer.text


def test_an_import_has_no_network_and_is_told_so(any_runner: LiveRunner) -> None:
    source = upload(
        """
import socket
try:
    socket.create_connection(("localhost", 443), timeout=5)
except OSError as error:
    said = str(error)


def attack() -> str:
    return said
""",
        "attack",
    )
    for _ in range(3):
        assert "connect inside the handler" in answered(any_runner, source, network=["localhost"])["text"]
