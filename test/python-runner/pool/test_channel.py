"""Whatever a child writes, at whatever moment: main gets a message, or hears that the protocol was broken."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.test_child_life import CALL, CHECK, INVOCATION, MOMENTS, Step
from toolrack_runner.pool.channel import Channel, ChannelClosed
from toolrack_runner.wire import child_messages as m
from wire.messages import FORGED

#: At least what a moment's own messages need.
OUTPUT_BYTES = 1 << 10


def frame(payload: bytes) -> bytes:
    """As a child writes it."""
    return len(payload).to_bytes(4, "big") + payload


async def said(steps: Sequence[Step], data: bytes) -> tuple[list[m.ChildMessage], Exception]:
    """What main gets of a child that has lived so far, writes this, and ends; and what it hears at the end."""
    ended: list[bool] = []
    channel = Channel(OUTPUT_BYTES, lambda: ended.append(True))
    for step in steps:
        if isinstance(step, m.Order):
            channel.send(step)
        else:
            os.write(channel.childs_end, frame(orjson.dumps(step.as_json())))
            assert await channel.receive() == step
    os.write(channel.childs_end, data)
    channel.handed_over()
    heard: list[m.ChildMessage] = []
    try:
        while True:
            heard.append(await asyncio.wait_for(channel.receive(), 20))
    except (ChannelClosed, m.ProtocolError) as end:
        assert ended == [True]
        assert not channel.is_open
        return heard, end
    finally:
        channel.close()


PAYLOADS = FORGED.map(orjson.dumps) | st.binary(max_size=40)


@settings(max_examples=1_000, deadline=None)
@given(st.sampled_from([steps for steps, _, _ in MOMENTS]), st.lists(PAYLOADS, min_size=1, max_size=3))
def test_what_a_child_may_not_say_ends_the_channel_and_never_main(
    steps: tuple[Step, ...], payloads: list[bytes]
) -> None:
    heard, end = asyncio.run(said(steps, b"".join(map(frame, payloads))))
    assert len(heard) == len(payloads) or isinstance(end, m.ProtocolError)
    if isinstance(end, m.ProtocolError):
        assert str(end).isascii()


ENDS: dict[str, tuple[bytes, type[Exception]]] = {
    "no JSON": (frame(b"\x80\x04."), m.ProtocolError),
    "invalid UTF-8": (frame(b'{"answer": {"text": "\xff"}}'), m.ProtocolError),
    "a lone surrogate": (frame(rb'{"answer": {"text": "\ud800"}}'), m.ProtocolError),
    "1,100 levels": (frame(b"[" * 1_100 + b"]" * 1_100), m.ProtocolError),
    "a frame above the bound": ((1 << 30).to_bytes(4, "big"), m.MessageTooLarge),
    "many values": (frame(b"[" + b"0," * 500_000 + b"0]"), m.MessageTooLarge),
    "half a frame": (b"\0\0\0\x09{", ChannelClosed),
}


@pytest.mark.parametrize(("data", "kind"), ENDS.values(), ids=ENDS)
def test_each_end_is_told_by_its_kind(data: bytes, kind: type[Exception]) -> None:
    async def end() -> Exception:
        channel = Channel(OUTPUT_BYTES, lambda: None)
        channel.send(CALL, INVOCATION)
        childs_end = socket.socket(fileno=os.dup(channel.childs_end))
        writing = asyncio.create_task(asyncio.to_thread(write, childs_end, data))
        try:
            await asyncio.wait_for(channel.receive(), 20)
        except (ChannelClosed, m.ProtocolError) as raised:
            return raised
        finally:
            channel.close()  # Whoever still writes hears of it.
            await writing
        raise AssertionError("it was taken for a message")

    assert type(asyncio.run(end())) is kind


def write(childs_end: socket.socket, data: bytes) -> None:
    """Writes it all, as far as main reads it, and hangs up."""
    with childs_end, suppress(OSError):
        childs_end.sendall(data)
        childs_end.shutdown(socket.SHUT_RDWR)


def test_a_check_says_no_more_than_a_check_has_to_say() -> None:
    example = frame(orjson.dumps(m.ExampleStarts("m:a", 0).as_json()))
    steps: Any = (
        CHECK,
        m.StageReport("parsed", {"stage": "parsed"}),
        m.StageReport("imported", {"stage": "imported"}),
    )
    heard, end = asyncio.run(said(steps, example * 1_100))
    assert len(heard) < 1_010
    assert isinstance(end, m.ProtocolError)
