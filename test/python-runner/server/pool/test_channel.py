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

from server.pool.test_child_life import CALL, CHECK, INVOCATION, MOMENTS, Step
from support.quick import examples
from toolrack_runner.server.pool.channel import Channel, ChannelClosedError
from toolrack_runner.wire import child_messages as m
from wire.messages import FORGED

#: At least what a moment's own messages need.
OUTPUT_BYTES = 1 << 10


def frame(payload: bytes) -> bytes:
    """As a child writes it."""
    return len(payload).to_bytes(4, "big") + payload


async def said(steps: Sequence[Step], data: bytes) -> tuple[list[m.ChildMessage], Exception]:
    """The messages that main gets from a child with this life that writes these bytes and ends, and the last error."""
    ended: list[bool] = []
    channel = Channel(OUTPUT_BYTES, lambda: ended.append(True))
    for step in steps:
        if isinstance(step, m.Order):
            channel.send(step)
            assert os.read(channel.childs_end, 1 << 16)
        else:
            os.write(channel.childs_end, frame(orjson.dumps(step.as_json())))
            if isinstance(step, m.Rested):
                assert not channel.hears_more()
                assert channel.has_rested
                channel.begin_again()
            else:
                assert await channel.receive() == step
    os.write(channel.childs_end, data)
    channel.handed_over()
    # That a child has rested is no message for `receive`.
    heard: list[m.ChildMessage] = []
    try:
        while True:
            heard.append(await asyncio.wait_for(channel.receive(), 20))
    except (ChannelClosedError, m.ProtocolError) as end:
        assert ended == [True]
        assert not channel.is_open
        return heard, end
    finally:
        channel.close()


def test_messages_bytes_and_time_are_counted_anew_for_each_call() -> None:
    async def many_calls() -> None:
        channel = Channel(OUTPUT_BYTES, lambda: None)
        channel.send(CALL._replace(reuse=True))
        for message in (m.Starting(), m.Ready()):
            os.write(channel.childs_end, frame(orjson.dumps(message.as_json())))
            await channel.receive()
        large = "x" * OUTPUT_BYTES
        for number in range(m.REUSE_MAX):
            channel.send(INVOCATION._replace(number=number))
            os.read(channel.childs_end, 1 << 16)
            answer = m.TextResult(large * 3, number)
            for said in (m.Progress(0.5, ""), m.Progress(1, ""), answer):
                os.write(channel.childs_end, frame(orjson.dumps(said.as_json())))
                assert await channel.receive() == said
            os.write(channel.childs_end, frame(orjson.dumps(m.Rested(number).as_json())))
            assert not channel.hears_more()
            assert channel.server_seconds > 0
            channel.begin_again()
            assert channel.server_seconds == 0
        channel.close()

    asyncio.run(many_calls())


PAYLOADS = FORGED.map(orjson.dumps) | st.binary(max_size=40)


@settings(max_examples=examples(1_000))
@given(st.sampled_from([steps for steps, _, _ in MOMENTS]), st.lists(PAYLOADS, min_size=1, max_size=3))
def test_what_a_child_may_not_say_ends_the_channel_and_never_main(
    steps: tuple[Step, ...], payloads: list[bytes]
) -> None:
    heard, end = asyncio.run(said(steps, b"".join(map(frame, payloads))))
    rested = sum(payload.startswith(b'{"rested"') for payload in payloads)
    assert len(heard) >= len(payloads) - rested or isinstance(end, m.ProtocolError)
    if isinstance(end, m.ProtocolError):
        assert str(end).isascii()


ENDS: dict[str, tuple[bytes, type[Exception]]] = {
    "no JSON": (frame(b"\x80\x04."), m.ProtocolError),
    "invalid UTF-8": (frame(b'{"answer": {"text": "\xff"}}'), m.ProtocolError),
    "a lone surrogate": (frame(rb'{"answer": {"text": "\ud800"}}'), m.ProtocolError),
    "1,100 levels": (frame(b"[" * 1_100 + b"]" * 1_100), m.ProtocolError),
    "a frame above the bound": ((1 << 30).to_bytes(4, "big"), m.MessageTooLargeError),
    "many values": (frame(b"[" + b"0," * 500_000 + b"0]"), m.MessageTooLargeError),
    "half a frame": (b"\0\0\0\x09{", ChannelClosedError),
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
        except (ChannelClosedError, m.ProtocolError) as raised:
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


BEFORE_THE_WISH: tuple[Step, ...] = (CALL._replace(network=True), INVOCATION, m.Starting(), m.Ready({}))


async def wished(channel: Channel, childs_end: socket.socket) -> None:
    """A child has come so far that it asks for a connection, and has read all that it was sent."""
    childs_end.settimeout(20)
    for step in BEFORE_THE_WISH:
        if isinstance(step, m.Order):
            channel.send(step)
        else:
            childs_end.sendall(frame(orjson.dumps(step.as_json())))
            await channel.receive()
    childs_end.recv(1 << 16)
    childs_end.sendall(WISH)
    assert isinstance(await channel.receive(), m.Connect)


WISH = frame(orjson.dumps(m.Connect("a.example", 443).as_json()))


@pytest.mark.parametrize("is_granted", [True, False], ids=["granted", "refused"])
def test_who_asks_again_before_the_reply_was_read_breaks_the_protocol(is_granted: bool) -> None:
    async def play() -> None:
        channel = Channel(OUTPUT_BYTES, lambda: None)
        with socket.socket(fileno=os.dup(channel.childs_end)) as childs_end:
            try:
                await wished(channel, childs_end)
                for _ in range(3):
                    channel.reply(m.ConnectReply(), 0) if is_granted else channel.reply(m.ConnectReply("no"))
                    _, descriptors, _, _ = socket.recv_fds(childs_end, 4_096, 1)
                    assert len(descriptors) == is_granted
                    for descriptor in descriptors:
                        os.close(descriptor)
                    childs_end.sendall(WISH)
                    assert isinstance(await channel.receive(), m.Connect)
                channel.reply(m.ConnectReply(), 0) if is_granted else channel.reply(m.ConnectReply("no"))
                # To look at it is not to take it.
                assert childs_end.recv(4, socket.MSG_PEEK)
                childs_end.sendall(WISH)
                with pytest.raises(m.ProtocolError, match="before the child read"):
                    await channel.receive()
            finally:
                channel.close()

    asyncio.run(play())


def test_a_descriptor_that_the_kernel_does_not_take_is_told_to_the_child() -> None:
    async def play() -> bytes:
        channel = Channel(OUTPUT_BYTES, lambda: None)
        with socket.socket(fileno=os.dup(channel.childs_end)) as childs_end:
            try:
                await wished(channel, childs_end)
                channel.reply(m.ConnectReply(), 1 << 20)  # There is none of this number: EBADF.
                return childs_end.recv(4_096)
            finally:
                channel.close()

    assert b"could not be handed over: Bad file descriptor" in asyncio.run(play())


def test_a_reply_that_cannot_be_sent_at_all_ends_the_channel() -> None:
    async def play() -> None:
        channel = Channel(OUTPUT_BYTES, lambda: None)
        with socket.socket(fileno=os.dup(channel.childs_end)) as childs_end:
            try:
                await wished(channel, childs_end)
                channel.send(m.Invocation("m:a", {"text": "x" * (4 << 20)}, {}))  # Fills the channel: EAGAIN.
                channel.reply(m.ConnectReply("no"))
                with pytest.raises(m.ProtocolError, match="could not be sent"):
                    await asyncio.wait_for(channel.receive(), 20)
            finally:
                channel.close()

    asyncio.run(play())


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
