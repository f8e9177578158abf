"""The server process's end of a child's channel: sends orders and receives messages.

Every byte that a child sends may be an attack on the server process. So the server process limits the size of a message
before it stores the message. It parses only complete messages, and uses them only for the call of this child.
"""

import asyncio
import fcntl
import os
import socket
import sys
import termios
import time
from collections.abc import Callable

import orjson

from toolrack_runner.server.pool.child_life import ChildLife
from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.child_messages import (
    PROGRESS_CHARACTERS_MAX,
    ChildMessage,
    MessageTooLargeError,
    Order,
    ProtocolError,
)
from toolrack_runner.wire.content import WRITTEN_BYTES_MAX
from toolrack_runner.wire.frames import FrameSplitter, FrameTooLargeError, with_length
from toolrack_runner.wire.json_depth import is_too_heavy
from toolrack_runner.wire.parse_child_message import parse_child_message

#: How many bytes a frame may have besides its result: for keys, the names of a module's tools, or compiled code.
FRAME_SLACK_BYTES = 1 << 20
#: How many messages a child may send in total. A check sends one for each example (20 for each of 50 specs) and one for each
#: of a few stages. A test compares this number with the limits of a module (`limits.py`).
MESSAGES_MAX = 1_010
#: How many additional messages a child may send for each second of its call. The runner's own code in the child sends at
#: most 120: every 25 ms the values, the progress, and the values after it.
EVENTS_PER_SECOND_MAX = 150
#: How many bytes one progress message may have, if each character of its text needs six bytes.
PROGRESS_BYTES_MAX = 6 * PROGRESS_CHARACTERS_MAX + 200
#: The size of a channel's send buffer. A call and its source fit into it, so that one write sends both.
CHANNEL_BYTES = 1 << 20
_READ_BYTES = 1 << 18


class ChannelClosedError(Exception):
    """The child's end of the channel is closed, and no complete message remains."""


class Channel:
    """The channel of one child. `on_end` is called once, when the server process stops reading the channel."""

    def __init__(self, output_bytes: int, on_end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._ours, self._theirs = socket.socketpair()
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHANNEL_BYTES)
        self._ours.setblocking(False)
        self.life = ChildLife()
        frame_bytes = written_bytes_max(output_bytes) + FRAME_SLACK_BYTES
        self._splitter = FrameSplitter(frame_bytes)
        self._messages: list[ChildMessage] = []
        self._messages_left = MESSAGES_MAX
        #: How many seconds of processor time the server process has used for this child.
        self.server_seconds = 0.0
        self._bytes_left = frame_bytes + FRAME_SLACK_BYTES
        self._frame_bytes = frame_bytes
        #: When the call was sent; None before.
        self._called_at: float | None = None
        self._is_paused = False
        #: Whether the child has rested after its call, and what is called when it says so.
        self.has_rested = False
        self.on_rested: Callable[[], None] | None = None
        self._end: Exception | None = None
        #: Set when a message or the end arrives. `receive` clears it.
        self._arrived = asyncio.Event()
        self._unsent: bytes | memoryview = b""
        self._loop.add_reader(self._ours.fileno(), self._hear)

    @property
    def childs_end(self) -> int:
        return self._theirs.fileno()

    @property
    def is_open(self) -> bool:
        """False when the server process knows that the child has closed its end or has broken the protocol."""
        return self._end is None

    @property
    def has_more(self) -> bool:
        """Whether the child sent anything after the messages that `receive` has returned."""
        return bool(self._messages) or self._splitter.has_rest or isinstance(self._end, ProtocolError)

    def handed_over(self) -> None:
        """Closes the child's end of the channel in the server process.

        Otherwise the channel would stay open after the child's death.
        """
        self._theirs.close()

    def send(self, *orders: Order) -> None:
        """Sends orders without blocking. If they do not fit into the buffer, the rest is sent when the child has read."""
        for order in orders:
            self.life.told(order)
            if isinstance(order, messages.Invocation):
                self._called_at = self._loop.time()
                self._bytes_left += WRITTEN_BYTES_MAX + (self._frame_bytes if order.streams else 0)
        self._send(b"".join((self._unsent, *map(_frame, orders))))

    def hears_more(self) -> bool:
        """Reads what has arrived. Returns whether there is anything that no call has asked for, or the end."""
        self._hear()
        return self.has_more or not self.is_open

    def begin_again(self) -> None:
        """Counts messages, bytes and time anew, for the next call of a child that has rested."""
        self.has_rested = False
        self.server_seconds = 0.0
        self._called_at = None
        self._messages_left = MESSAGES_MAX
        self._bytes_left = self._frame_bytes + FRAME_SLACK_BYTES

    def take_at_most(self, message_bytes: int) -> None:
        """Sets the largest size of a message. Before, it follows from the limit of a result."""
        self._splitter.bytes_max = message_bytes

    def reply(self, reply: messages.ConnectReply, *descriptors: int) -> None:
        """Answers a Connect. If there is a connection, passes its descriptor. If that fails, sends the reason."""
        self.life.told(reply)
        try:
            socket.send_fds(self._ours, [_frame(reply)], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The child has gone; `_hear` notices it.
        except OSError as error:
            if self._ours.fileno() < 0:
                return
            if not descriptors:
                self.end(ProtocolError("the reply to 'connect' could not be sent"))
                return
            reason = os.strerror(error.errno or 0)
            self.reply(messages.ConnectReply(f"the connection could not be handed over: {reason}"))

    def pause(self) -> None:
        """Stops reading until `go_on` is called. If the channel's buffer is full, a child that sends has to wait."""
        if not self._is_paused and self._end is None and self._ours.fileno() >= 0:
            self._is_paused = True
            self._loop.remove_reader(self._ours.fileno())

    def go_on(self) -> None:
        """Reads again after `pause`."""
        if self._is_paused and self._end is None and self._ours.fileno() >= 0:
            self._loop.add_reader(self._ours.fileno(), self._hear)
        self._is_paused = False

    async def receive(self) -> ChildMessage:
        """The next message of the child. Raises ChannelClosedError, MessageTooLargeError or another ProtocolError."""
        while not self._messages:
            if self._end is not None:
                # A copy is raised, because raising adds a traceback to an exception.
                raise type(self._end)(*self._end.args)
            self._arrived.clear()
            await self._arrived.wait()
        return self._messages.pop(0)

    def timed(self) -> "_Timed":
        """Adds the processor time of the `with` block to `server_seconds`."""
        return _Timed(self)

    def hear_the_rest(self) -> None:
        """Reads all messages that the child has sent before it ended. One of them may be the answer."""
        while self._end is None and self._ours.fileno() >= 0 and self._hear():
            pass
        self.end(ChannelClosedError())

    def end(self, reason: Exception) -> None:
        """Stops reading the channel. `receive` then raises this reason or, if there was one before, the earlier reason."""
        self._end = self._end or reason
        self._arrived.set()

    def close(self) -> None:
        """Closes both ends of the channel in the server process, as far as they are open."""
        if self._ours.fileno() < 0:
            return
        self._loop.remove_reader(self._ours.fileno())
        self._loop.remove_writer(self._ours.fileno())
        self._ours.close()
        self._theirs.close()

    def _send(self, data: bytes | memoryview) -> None:
        rest: bytes | memoryview
        try:
            # A view, because the files of arguments may be large, and a slice of bytes would copy them at each write.
            rest = memoryview(data)[self._ours.send(data) :]
        except BlockingIOError:
            rest = data
        except OSError:
            rest = b""  # The child has gone; `_hear` notices it.
        if rest and not self._unsent:
            self._loop.add_writer(self._ours.fileno(), self._send_rest)
        self._unsent = rest

    def _send_rest(self) -> None:
        rest, self._unsent = self._unsent, b""
        self._loop.remove_writer(self._ours.fileno())
        self._send(rest)

    def _hear(self) -> bool:
        """Reads the bytes that have arrived. Returns whether there were any."""
        with _Timed(self):
            were_any = self._hear_bytes()
        if self.has_rested and self.on_rested is not None and self._end is None:
            act, self.on_rested = self.on_rested, None
            act()
        return were_any

    def _hear_bytes(self) -> bool:
        try:
            data = self._ours.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._stop(ChannelClosedError())
            return False
        self._bytes_left -= len(data)
        try:
            for payload in self._splitter.feed(data):
                self._messages_left -= 1
                message = _parse(payload, self._messages_left + self._events_allowed())
                if isinstance(message, messages.Progress):
                    self._bytes_left += min(len(payload), PROGRESS_BYTES_MAX)
                if isinstance(message, messages.Connect):
                    self._require_read()
                self.life.heard(message)
                if isinstance(message, messages.Rested):
                    self.has_rested = True
                else:
                    self._messages.append(message)
            if self._bytes_left < 0:
                raise MessageTooLargeError("a child sent more bytes than its messages may have in all")
        except FrameTooLargeError:
            self._stop(MessageTooLargeError("a message is larger than the limit"))
        except ProtocolError as broken:
            # A copy is kept, because the traceback of the original would keep data of this child in memory.
            self._stop(type(broken)(*broken.args))
        self._arrived.set()
        return True

    def _events_allowed(self) -> int:
        """How many additional messages the child may send because of the time for which its call has been running."""
        seconds = 0.0 if self._called_at is None else self._loop.time() - self._called_at
        return int(seconds * EVENTS_PER_SECOND_MAX)

    def _require_read(self) -> None:
        """Raises ProtocolError if the child has not read everything that the server process has sent.

        A message that was not read may contain the descriptor of a connection. This descriptor does not count against the
        child's limit of open files until the child reads the message.
        """
        if not self.is_read:
            raise ProtocolError("'connect' came before the child read what it was sent")

    @property
    def is_read(self) -> bool:
        """Whether the child has read everything that the server process has sent."""
        unread = int.from_bytes(fcntl.ioctl(self._ours, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        return not unread and not self._unsent

    def _stop(self, reason: Exception) -> None:
        self._end = reason
        if isinstance(reason, ProtocolError):
            self._splitter.clear()
        self._loop.remove_reader(self._ours.fileno())
        self._arrived.set()
        self._on_end()


class _Timed:
    """A block whose processor time counts for a child. It is no generator, because every message of a child needs one."""

    __slots__ = ("_before", "_channel")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __enter__(self) -> None:
        self._before = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._channel.server_seconds += time.thread_time() - self._before


def written_bytes_max(result_bytes: int) -> int:
    """How many bytes a frame may need for a result of `result_bytes` bytes.

    JSON needs two bytes for a quote and six for a control character. A result of up to 1 MB may have any characters. For a
    larger result, the frame may only have twice its size, because the server process has to keep the frame in memory.
    """
    return result_bytes * (6 if result_bytes <= 1 << 20 else 2)


def _frame(order: Order) -> bytes:
    return with_length(orjson.dumps(order.as_json()))


def _parse(payload: bytes, messages_left: int) -> ChildMessage:
    if messages_left < 0:
        raise ProtocolError("a child sent too many messages")
    if is_too_heavy(payload):
        raise MessageTooLargeError("a message holds too many values")
    try:
        value = orjson.loads(payload)  # Refuses NaN, invalid UTF-8 and more than 1,024 levels.
    except ValueError:
        raise ProtocolError("a message is not JSON") from None
    return parse_child_message(value)
