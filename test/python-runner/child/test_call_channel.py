"""The child's end of the channel during a call: any thread may use it, and main reads whole messages in their order."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from toolrack_runner.child import call_channel
from toolrack_runner.child.call_channel import CallChannel
from toolrack_runner.wire.child_messages import Connect, TextResult
from toolrack_runner.wire.frames import FrameSplitter, FrameTooLargeError

ANSWER = TextResult("done")


@contextmanager
def heard() -> Iterator[tuple[CallChannel, list[dict[str, Any]]]]:
    """A channel that takes a few bytes at a time, and the messages that main has read at the end of the block."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    messages: list[dict[str, Any]] = []

    def read() -> None:
        splitter = FrameSplitter(1 << 20)
        while data := ours.recv(1_000):
            try:
                messages.extend(map(orjson.loads, splitter.feed(data)))
            except (FrameTooLargeError, ValueError) as broken:
                # Reads on, so that no writer waits.
                messages.append({"broken": broken})
                splitter.clear()

    reader = threading.Thread(target=read)
    reader.start()
    with ours, theirs:
        yield CallChannel(theirs.fileno()), messages
        theirs.shutdown(socket.SHUT_RDWR)
        reader.join(20)


def test_many_threads_write_whole_messages_and_no_value_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_channel, "EVENT_SECONDS", 0.001)
    # Each is larger than what the channel takes at once.
    sent = [f"{number}" + "x" * 20_000 for number in range(100)]
    with heard() as (channel, messages):

        def work(which: int) -> None:
            for number in range(200):
                channel.progress(number / 200, f"{which}" * 1_000)
                channel.say(Connect("a.example", which + 1))

        threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
        for thread in threads:
            thread.start()
        for value in sent:
            channel.value(value)
        for thread in threads:
            thread.join(20)
        channel.progress(1.0, "last")
        channel.answer(ANSWER)
    assert [message for message in messages if "broken" in message] == []
    values = [value for message in messages for value in message.get("values", ())]
    assert values == sent
    assert sum("connect" in message for message in messages) == 1_600
    assert messages[-2:] == [{"progress": {"fraction": 1.0, "text": "last"}}, ANSWER.as_json()]


def test_an_answer_is_the_last_message(monkeypatch: pytest.MonkeyPatch) -> None:
    # So that the late events would be written at once.
    monkeypatch.setattr(call_channel, "EVENT_SECONDS", 0.0)
    with heard() as (channel, messages):
        channel.value("1")
        channel.value("2")
        channel.progress(0.5, "half")
        channel.answer(ANSWER)
        channel.progress(1.0, "late")
        channel.value("3")
    assert messages == [
        {"values": ["1"]},
        {"values": ["2"]},
        {"progress": {"fraction": 0.5, "text": "half"}},
        ANSWER.as_json(),
    ]


def test_a_value_that_a_generator_yields_after_its_progress_is_told_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_channel, "EVENT_SECONDS", 60.0)
    with heard() as (channel, messages):
        channel.value("1")
        channel.value("2")
        channel.progress(0.5, "half")
        channel.value("3")
        channel.answer(ANSWER)
    assert messages == [
        {"values": ["1"]},
        {"values": ["2"]},
        {"progress": {"fraction": 0.5, "text": "half"}},
        {"values": ["3"]},
        ANSWER.as_json(),
    ]


def test_a_finaliser_that_runs_during_a_write_waits_for_nothing() -> None:
    """The collector may run one in the thread that holds the lock."""
    with heard() as (channel, messages):
        with channel._lock:
            channel.progress(0.5, "from a finaliser")
        channel.answer(ANSWER)
    assert messages == [{"progress": {"fraction": 0.5, "text": "from a finaliser"}}, ANSWER.as_json()]


def test_a_tool_with_as_many_threads_as_it_may_have_tells_its_progress_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(call_channel, "_start_thread", refuse)
    with heard() as (channel, messages):
        channel.progress(0.1, "")
        channel.progress(0.2, "")
        channel.progress(0.3, "")
        channel.answer(ANSWER)
    assert [each["progress"]["fraction"] for each in messages[:-1]] == [0.1, 0.3]
