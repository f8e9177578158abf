"""The events of a call, sent while it runs: one JSON object in each line, and the outcome in the last line."""

import json
from typing import Any

import pytest

from support.events import NDJSON, Event, events_of, of_kind, streamed
from support.live_runner import LiveRunner, invocation
from support.until import until

SPECS = """
TOOL_SPECS = [
    {"name": f"live:{each.__name__}", "description": "Runs.", "handler": each, "parameters": {"type": "object"}}
    for each in list(globals().values()) if callable(each) and getattr(each, "__module__", None) == __name__
]
"""


def events(runner: LiveRunner, source: str, **more: Any) -> list[Event]:
    """All events of a call of `run`."""
    return events_of(runner, source + SPECS, "live:run", **more)


def test_a_quiet_call_is_answered_as_ever(runner: LiveRunner) -> None:
    with streamed(runner, "def run(): return {'a': 1}" + SPECS, "live:run", stream=True) as (answer, _):
        assert answer.headers["content-type"] == "application/json"
        assert int(answer.headers["content-length"]) == len(answer.read())
        assert answer.json()["value"] == {"a": 1}


def test_a_caller_that_wants_no_events_gets_none(runner: LiveRunner) -> None:
    source = "def run(context):\n    print('x')\n    context.progress(1)\n    yield 1"
    answer = runner.client.post("/invoke", json=invocation(source + SPECS, "live:run", stream=True))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["value"] == [1]


def test_a_call_that_is_refused_before_it_starts_keeps_its_status(runner: LiveRunner) -> None:
    body = invocation("def run(): pass", "live:run") | {"source": None}
    answer = runner.client.post("/invoke", json=body, headers=NDJSON)
    assert answer.status_code == 404
    assert answer.json()["error"]["details"] == [{"reason": "MODULE_UNKNOWN"}]
    answer = runner.client.post("/invoke", json=body | {"stream": "yes"}, headers=NDJSON)
    assert answer.status_code == 400
    assert "stream must be true or false" in answer.json()["error"]["message"]


TALKS = """
import time
def run(context):
    print("one")
    context.progress(0.5, "half")
    yield {"n": 1}
    print("two")
    yield "é"
"""


def test_what_happens_is_told_and_then_the_outcome(runner: LiveRunner) -> None:
    told = events(runner, TALKS, stream=True)
    assert "".join(event["text"] for event in of_kind("log", told)) == "one\ntwo\n"
    assert of_kind("progress", told) == [{"event": "progress", "fraction": 0.5, "text": "half"}]
    assert [event["value"] for event in of_kind("value", told)] == [{"n": 1}, "é"]
    outcome = told[-1]
    assert outcome["event"] == "outcome"
    plain = runner.invoke(TALKS + SPECS, "live:run")
    assert plain.keys() == outcome.keys() - {"event"}
    for key in ("outcome", "value", "log", "isolation"):
        assert outcome[key] == plain[key]
    assert outcome["value"] == [{"n": 1}, "é"]


def test_values_are_only_sent_if_the_body_asks_for_them(runner: LiveRunner) -> None:
    told = events(runner, TALKS)
    assert of_kind("value", told) == []
    assert told[-1]["value"] == [{"n": 1}, "é"]


@pytest.mark.parametrize(
    ("what", "event"),
    [
        ("print('one')", {"event": "log", "text": "one\n"}),
        ("import sys; sys.stderr.write('one\\n')", {"event": "log", "text": "one\n"}),
        ("context.progress(1 / 2)", {"event": "progress", "fraction": 0.5, "text": ""}),
        ("yield 1", {"event": "value", "value": 1}),
        ("[context.progress(n / 10) for n in range(10)]", {"event": "progress", "fraction": 0.9, "text": ""}),
        ("yield 0\n    yield 1\n    yield 2", {"event": "value", "value": 2}),
    ],
)
def test_an_event_comes_while_its_call_still_runs(runner: LiveRunner, what: str, event: Event) -> None:
    """The last of some quick ones comes too, though its call says nothing more."""
    source = f"import time\ndef run(context):\n    {what}\n    time.sleep(60)"
    with streamed(runner, source + SPECS, "live:run", stream=True, deadlineMs=20_000) as (_, happening):
        assert any(each == event for each in happening)


def test_the_context_says_when_the_call_is_killed(runner: LiveRunner) -> None:
    source = """
def run(context):
    from datetime import datetime, UTC
    print(context["deadline"], (datetime.fromisoformat(context["deadline"]) - datetime.now(UTC)).total_seconds())
"""
    answer = runner.invoke(source + SPECS, "live:run", deadlineMs=5_000)
    moment, left = answer["log"]["text"].split()
    assert moment.endswith("Z")
    assert 0 < float(left) <= 5
    # A module that the runner knows, and a child that has waited.
    later = runner.invoke(source + SPECS, "live:run", deadlineMs=5_000)["log"]["text"].split()
    assert later[0] > moment
    assert 0 < float(later[1]) <= 5


ENDS: list[tuple[str, str]] = [
    ("import time; time.sleep(60)", "DEADLINE_EXCEEDED"),
    ("import os; os._exit(3)", "TOOL_CRASHED"),
    ("import ctypes; ctypes.string_at(0)", "TOOL_CRASHED"),
    ("bytearray(1 << 40)", "MEMORY_LIMIT"),
    ("raise KeyError", "TOOL_RAISED"),
]


@pytest.mark.parametrize(("how", "code"), ENDS)
def test_what_was_printed_before_the_end_is_kept_and_nothing_else(
    runner: LiveRunner, how: str, code: str
) -> None:
    source = f"def run():\n    print('before')\n    {how}"
    # Only the first way to end is one by the deadline, and on a busy machine the tool prints late.
    told = events(runner, source, deadlineMs=3_000 if code == "DEADLINE_EXCEEDED" else 30_000)
    assert told[-1]["code"] == code
    assert told[-1]["log"]["text"] == "before\n"
    assert "".join(event["text"] for event in of_kind("log", told)) == "before\n"


def test_a_thread_of_the_runner_is_none_of_the_tool_s(runner: LiveRunner) -> None:
    source = """
import threading, time
def run(context):
    for n in range(10):
        context.progress(n / 10)
    time.sleep(0.1)
    return [threading.active_count(), len(threading.enumerate())]
"""
    assert runner.invoke(source + SPECS, "live:run")["value"] == [1, 1]


def test_values_before_an_exception_are_sent(runner: LiveRunner) -> None:
    source = "def run():\n    yield from range(10)\n    raise KeyError('Bern')"
    told = events(runner, source, stream=True)
    assert [event["value"] for event in of_kind("value", told)] == list(range(10))
    assert told[-1]["code"] == "TOOL_RAISED"
    assert "KeyError: 'Bern'" in told[-1]["error"]


def test_progress_and_values_keep_their_order(runner: LiveRunner) -> None:
    source = """
import time
def run(context):
    for row in range(1, 6):
        context.progress(row / 5)
        yield row
        time.sleep(0.05)
"""
    for _ in range(4):
        told = events(runner, source, stream=True)
        before = 0
        for event in told:
            before += event["event"] == "value"
            if event["event"] == "progress":
                assert round(event["fraction"] * 5) == before + 1, told


def test_a_value_without_a_form_is_named_by_its_number(runner: LiveRunner) -> None:
    source = "def run():\n    yield from range(6)\n    yield object()"
    told = events(runner, source, stream=True)
    assert len(of_kind("value", told)) == 6
    assert told[-1]["code"] == "RESULT_INVALID"
    assert "value 7 is an object" in told[-1]["error"]


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_generator_that_never_ends_meets_the_limit_of_a_result(
    runner: LiveRunner, is_streamed: bool
) -> None:
    source = "def run():\n    while True:\n        yield 'x' * 1_000"
    body = invocation(source + SPECS, "live:run", limits={"outputBytes": 100_000}, stream=is_streamed)
    lines = runner.client.post("/invoke", json=body, headers=NDJSON).text.splitlines()
    assert len(lines) == (101 if is_streamed else 1)
    assert json.loads(lines[-1])["code"] == "RESULT_TOO_LARGE"


def test_a_generator_that_only_waits_is_killed_at_its_deadline(runner: LiveRunner) -> None:
    source = "import time\ndef run():\n    while True:\n        yield 1\n        time.sleep(0.3)"
    told = events(runner, source, stream=True, deadlineMs=3_000)
    assert told[-1]["code"] == "DEADLINE_EXCEEDED"
    assert 1 <= len(of_kind("value", told)) <= 10


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_no_value_is_lost_however_fast_they_come(runner: LiveRunner, kind: str) -> None:
    source = f"{kind} run():\n    for number in range(5_000):\n        yield number"
    told = events(runner, source, stream=True)
    assert [event["value"] for event in of_kind("value", told)] == list(range(5_000))
    assert told[-1]["value"] == list(range(5_000))


TEXTS = """
def run():
    for n in range(50):
        yield '"\\n\\u2028é' * 500
"""


def test_text_of_any_characters_stays_in_its_line(runner: LiveRunner) -> None:
    told = events(runner, TEXTS, stream=True)
    assert {event["value"] for event in of_kind("value", told)} == {'"\n\u2028é' * 500}
    assert len(of_kind("value", told)) == 50
    assert told[-1]["text"] == '"\n\u2028é' * 25_000


PROGRESS = """
import threading, time
def run(context):
    def work(which):
        for n in range(1_000):
            context.progress(n / 1_000, f"{which}:" + "x" * 900)
    threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
    for thread in threads: thread.start()
    for n in range(200):
        yield {"n": n, "x": "y" * 100}
    for thread in threads: thread.join()
    context.progress(1, "done")
"""


def test_eight_threads_may_tell_progress_beside_the_values(runner: LiveRunner) -> None:
    told = events(runner, PROGRESS, stream=True)
    progress = of_kind("progress", told)
    assert progress[-1] == {"event": "progress", "fraction": 1.0, "text": "done"}
    assert all(event["text"][1:] == ":" + "x" * 900 for event in progress[:-1])
    assert [event["value"]["n"] for event in of_kind("value", told)] == list(range(200))
    assert told[-1]["outcome"] == "success", told[-1]


OFTEN = """
import time
def run(context):
    until = time.monotonic() + 1
    while time.monotonic() < until:
        context.progress(0.5)
        time.sleep(0.001)
    context.progress(1)
"""


def test_progress_a_thousand_times_a_second_is_told_a_few_times(runner: LiveRunner) -> None:
    told = of_kind("progress", events(runner, OFTEN))
    assert told[-1]["fraction"] == 1
    assert 2 <= len(told) <= 60


def test_the_log_of_the_outcome_is_bounded_and_that_of_the_events_too(runner: LiveRunner) -> None:
    source = "def run():\n    for n in range(10_000):\n        print(n, 'x' * 100)"
    told = events(runner, source)
    assert told[-1]["log"]["truncated"]
    assert len(told[-1]["log"]["text"]) == 64 << 10
    assert "".join(event["text"] for event in of_kind("log", told)) == told[-1]["log"]["text"]


def test_a_call_whose_caller_goes_is_killed(runner: LiveRunner) -> None:
    source = """
import time
def run():
    try:
        while True:
            yield 1
            time.sleep(0.01)
    finally:
        print("closed")
"""
    with streamed(runner, source + SPECS, "live:run", stream=True, deadlineMs=60_000) as (_, happening):
        assert next(happening) == {"event": "value", "value": 1}
    until(runner.is_idle, "its end")
