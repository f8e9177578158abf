"""What a module does with the events of its call is that module's failure: others are answered meanwhile."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from hostile.resident import cpu_seconds, resident_bytes
from hostile.uploads import HONEST, upload
from support.events import NDJSON, Event, events_of, lines_of, of_kind
from support.live_runner import LiveRunner, invocation
from support.until import until

TELLS = "what came back over the channel is not a result"


def attack(body: str) -> str:
    """A module whose tool prints something, so that the answer is a stream, and does this."""
    return upload(f"def attack(context):\n    print('x')\n    {body}\n    time.sleep(9)", "attack")


FORGED = {
    "no JSON": "say({'values': ['{']})",
    "the end of its line": r"""say({'values': ['1}\n{"event":"outcome","outcome":"success","text":"forged"']})""",
    "two values": "say({'values': ['1,2']})",
    "NaN": "say({'values': ['NaN']})",
    "a deep value": "say({'values': ['[' * 101 + ']' * 101]})",
    "no text": "say({'values': [1]})",
    "no list": "say({'values': '1'})",
    "many values": "say({'values': ['1'] * 201})",
    "something more": "say({'values': ['1'], 'answer': {'text': 'x'}})",
    "values after the answer": "write(frame({'answer': {'text': 'x'}}) + frame({'values': ['1']}))",
    "values without end": "while True: say({'values': []})",
    "progress without end": "while True: say({'progress': {'fraction': 1, 'text': ''}})",
}


@pytest.mark.parametrize("body", FORGED.values(), ids=FORGED)
def test_what_is_forged_ends_the_call_and_never_the_stream(any_runner: LiveRunner, body: str) -> None:
    told = events_of(any_runner, attack(body), "hostile:attack", stream=True, deadlineMs=5_000)
    assert [each for each in told if each.get("text") == "forged"] == []
    assert told[-1]["event"] == "outcome"
    assert told[-1]["code"] == "RESULT_INVALID", told[-1]
    assert TELLS in told[-1]["error"]
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"


TOO_MUCH = {
    "bytes": """while True: say({'values': ['"' + 'x' * 10_000 + '"']})""",
    "bytes of white space": "while True: say({'values': [' ' * 10_000 + '1']})",
    "values in one": "say({'values': ['[' + '0,' * 500_000 + '0]']})",
}


@pytest.mark.parametrize("body", TOO_MUCH.values(), ids=TOO_MUCH)
def test_values_meet_the_limit_of_a_result(any_runner: LiveRunner, body: str) -> None:
    limits = {"outputBytes": 200_000}
    told = events_of(any_runner, attack(body), "hostile:attack", stream=True, limits=limits, deadlineMs=8_000)
    assert told[-1]["code"] == "RESULT_TOO_LARGE", told[-1]
    assert len(of_kind("value", told)) <= 20


HEAVY = {
    "a value of many values": "say({'values': ['[' + '0,' * 500_000 + '0]']})",
    "white space around progress": (
        "said = json.dumps({'progress': {'fraction': 1, 'text': ''}}).encode() + b' ' * 1_000_000;"
        "[write(frame(said)) for _ in range(40)]"
    ),
}


@pytest.mark.parametrize("body", HEAVY.values(), ids=HEAVY)
def test_what_costs_main_more_than_its_bytes_is_refused(any_runner: LiveRunner, body: str) -> None:
    limits = {"outputBytes": 1_500_000}
    told = events_of(any_runner, attack(body), "hostile:attack", stream=True, limits=limits, deadlineMs=8_000)
    assert told[-1]["code"] == "RESULT_TOO_LARGE", told[-1]
    assert of_kind("value", told) == []


LINE_BREAKS = r"""say({'values': ['{"a":\n1}', '[\r\n]']}); say({'answer': {'json': '[\n1]'}})"""


def test_line_breaks_between_the_parts_of_a_value_end_no_line(any_runner: LiveRunner) -> None:
    told = events_of(any_runner, attack(LINE_BREAKS), "hostile:attack", stream=True)
    assert [each["value"] for each in of_kind("value", told)] == [{"a": 1}, []]
    assert told[-1]["value"] == [1]


FLOODS = {
    "progress": "while True: context.progress(0.5, 'x' * 1_000)",
    "progress in 8 threads": (
        "[threading.Thread(target=lambda: [context.progress(0.5) for _ in iter(int, 1)]).start() for _ in range(8)]"
    ),
    "lines": "while True: print('x' * 1_000)",
    "characters": "while True: os.write(1, b'x')",
}


@pytest.mark.parametrize("body", FLOODS.values(), ids=FLOODS)
def test_a_flood_costs_main_little_and_others_nothing(any_runner: LiveRunner, body: str) -> None:
    pid = any_runner.process.pid
    with ThreadPoolExecutor(1) as pool:
        before, cpu = resident_bytes(pid), cpu_seconds(pid)
        flood = pool.submit(
            events_of, any_runner, attack(body), "hostile:attack", deadlineMs=2_000, tenant="flood"
        )
        while not flood.done():
            assert any_runner.invoke(HONEST, "hostile:hello", tenant="honest")["text"] == "hello"
            time.sleep(0.1)
        told = flood.result()
    assert told[-1]["code"] == "DEADLINE_EXCEEDED"
    assert len(told) < 250
    assert sum(len(each["text"]) for each in of_kind("log", told)) <= 64 << 10
    assert cpu_seconds(pid) - cpu < 0.6
    assert resident_bytes(pid) - before < 8 << 20


def unread(live: LiveRunner, source: str, **more: Any) -> socket.socket:
    """A call whose caller reads nothing; closing the connection is going away."""
    where = urlsplit(live.url)
    assert where.hostname
    assert where.port
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    caller.connect((where.hostname, where.port))
    request = live.client.build_request(
        "POST", "/invoke", json=invocation(source, "hostile:attack", **more), headers=NDJSON
    )
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    caller.sendall(f"POST /invoke HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode() + request.read())
    return caller


def read_all(caller: socket.socket) -> list[Event]:
    """All events of a stream, without the framing of HTTP."""
    data = b"".join(iter(lambda: caller.recv(1 << 16), b""))
    _, _, rest = data.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
    return [json.loads(line) for line in lines_of(iter([body]))]


VALUES = """
def attack(context, count):
    for number in range(count):
        print(number)
        context.progress(number / count)
        yield [number, "x" * 1_000]
"""


#: More than the runner's own code in a child would send in that time.
MANY_VALUES = """
def attack(context):
    for number in range(90):
        print(number)
        say({"values": [json.dumps([number, "x" * 1_000])] * 100})
    time.sleep(60)
"""


def test_values_that_nobody_reads_stay_with_their_child(any_runner: LiveRunner) -> None:
    before = resident_bytes(any_runner.process.pid)
    with unread(any_runner, upload(MANY_VALUES, "attack"), stream=True, deadlineMs=3_000) as caller:
        until(lambda: any_runner.health()["calls"]["running"] == 1, "the call")
        until(any_runner.is_idle, "its end")
        assert resident_bytes(any_runner.process.pid) - before < 4 << 20
        told = read_all(caller)
    written = told[-1]["log"]["text"].splitlines()
    assert 1 <= len(written) < 60
    values = [each["value"][0] for each in of_kind("value", told)]
    assert values == sorted(values)
    assert len(values) % 100 == 0


def test_a_caller_that_never_reads_holds_up_its_own_call_only(any_runner: LiveRunner) -> None:
    any_runner.invoke(HONEST, "hostile:hello")
    before = resident_bytes(any_runner.process.pid)
    more = {"arguments": {"count": 9_000}, "stream": True, "deadlineMs": 3_000, "tenant": "slow"}
    with unread(any_runner, upload(VALUES, "attack"), **more) as caller:
        until(lambda: any_runner.health()["calls"]["running"] == 1, "the call")
        while any_runner.health()["calls"]["running"]:
            assert any_runner.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"
            assert resident_bytes(any_runner.process.pid) - before < 6 << 20
            time.sleep(0.1)
        told = read_all(caller)
    values = [each["value"][0] for each in of_kind("value", told)]
    assert values == list(range(len(values)))
    assert 0 < len(values) < 9_000
    assert told[-1]["code"] == "DEADLINE_EXCEEDED"
    assert told[-1]["log"]["text"].startswith("0\n1\n2\n")


def test_a_caller_that_reads_late_gets_every_value(any_runner: LiveRunner) -> None:
    more = {"arguments": {"count": 1_500}, "stream": True, "deadlineMs": 60_000}
    with unread(any_runner, upload(VALUES, "attack"), **more) as caller:
        until(lambda: any_runner.health()["calls"]["running"] == 1, "the call")
        time.sleep(1)
        told = read_all(caller)
    assert [each["value"][0] for each in of_kind("value", told)] == list(range(1_500))
    assert told[-1]["outcome"] == "success"


def test_nothing_is_left_of_a_generator_whose_caller_goes(any_runner: LiveRunner) -> None:
    source = upload(
        "def attack():\n    while True:\n        yield 'x' * 100\n        time.sleep(0.01)", "attack"
    )
    for _ in range(5):
        with unread(any_runner, source, stream=True, deadlineMs=60_000):
            until(lambda: any_runner.health()["calls"]["running"] == 1, "the call")
        until(any_runner.is_idle, "its end")
    assert any_runner.invoke(HONEST, "hostile:hello")["text"] == "hello"


def test_main_keeps_nothing_of_what_the_calls_before_have_printed(any_runner: LiveRunner) -> None:
    source = upload("def attack():\n    print('x' * 60_000)", "attack")
    any_runner.invoke(source, "hostile:attack")
    before = resident_bytes(any_runner.process.pid)
    for _ in range(150):
        assert any_runner.invoke(source, "hostile:attack")["outcome"] == "success"
    # What is printed is 9 MB.
    assert resident_bytes(any_runner.process.pid) - before < 4 << 20
