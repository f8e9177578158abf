"""One connection of the service: says who it is, and then makes one request after the other."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, cast

from toolrack_runner.server.frames.frame import (
    VERSION,
    FrameReader,
    Kind,
    answer_frame,
    calls_in,
    event_frames,
    malformed,
    not_hello,
)
from toolrack_runner.server.http.event_stream import EventStream
from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.server.http.invoke import invoke
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.pool.refills import HOLD_SECONDS

#: How many seconds after its connection the service has for HELLO. It sends HELLO at once.
HELLO_SECONDS: Final = 10.0
#: A connection without a request is closed after so many seconds. The service closes its connections before that.
IDLE_SECONDS: Final = 30.0


class Connection(asyncio.Protocol):
    """Runs the calls that come over one connection. If the service closes it, the calls are cancelled."""

    def __init__(self, runner: Runner, secret: str, connections: "set[Connection]") -> None:
        self._runner = runner
        self._secret = secret.encode()
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._frames = FrameReader()
        #: Work for the time after the answers of a batch.
        self._afterwards: list[Callable[[], Awaitable[None]]] = []
        #: The running calls of the request, by their indexes.
        self.calls: dict[int, asyncio.Task[None]] = {}
        #: Set while the service reads what is sent.
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._idle_since = self._loop.time()
        self._timer = self._loop.call_later(HELLO_SECONDS, self._close_if_idle)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transports of uvloop are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._connections.discard(self)
        self._timer.cancel()
        for call in self.calls.values():
            call.cancel()

    def pause_writing(self) -> None:
        self._may_send.clear()

    def resume_writing(self) -> None:
        self._may_send.set()

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        try:
            for kind, payload in self._frames.feed(data):
                self._hear(kind, payload)
        except HttpError as error:
            self._transport.write(answer_frame(0, error.answer()))
            self.close()

    def close(self) -> None:
        """Closes the connection after what was written is sent. `connection_lost` then cancels its calls."""
        self._transport.close()

    def _hear(self, kind: int, payload: bytes) -> None:
        if not self._frames.is_trusted:
            self._hello(kind, payload)
            return
        if self.calls:
            raise malformed("a frame came before the last request was answered")
        if kind == Kind.INVOKE:
            self._begin([payload])
        elif kind == Kind.BATCH:
            self._begin(calls_in(payload))
        else:
            raise malformed(f"a frame has kind {kind}, which is no request")

    def _hello(self, kind: int, payload: bytes) -> None:
        if kind != Kind.HELLO or not payload:
            raise not_hello()
        if payload[0] != VERSION:
            raise malformed(f"HELLO has version {payload[0]}, and this runner speaks only version {VERSION}")
        if not hmac.compare_digest(payload[1:], self._secret):
            raise HttpError("TOKEN_INVALID", "HELLO must have the secret of this runner")
        self._frames.is_trusted = True

    def _begin(self, bodies: list[bytes]) -> None:
        for index, body in enumerate(bodies):
            self.calls[index] = self._loop.create_task(self._run(index, body))

    async def _run(self, index: int, body: bytes) -> None:
        stream = EventStream(partial(self._send_events, index))
        try:
            answer = await invoke(self._runner, body, stream)
            rest = await stream.end()
        finally:
            stream.stop()
        del self.calls[index]
        self._idle_since = self._loop.time()
        self._transport.write(event_frames(index, rest) + answer_frame(index, answer))
        if answer.afterwards is not None:
            self._afterwards.append(answer.afterwards)
        if self.calls:
            # The other calls of a batch get the processors first, but one that hangs does not hold up this work for long.
            await asyncio.sleep(HOLD_SECONDS)
        while self._afterwards:
            await self._afterwards.pop()()

    async def _send_events(self, index: int, lines: bytes) -> None:
        self._transport.write(event_frames(index, lines))
        await self._may_send.wait()

    def _close_if_idle(self) -> None:
        """Closes the connection if it has had no request for long. One timer for each connection is enough for that."""
        patience = IDLE_SECONDS if self._frames.is_trusted else 0.0
        rest = patience if self.calls else self._idle_since + patience - self._loop.time()
        if rest <= 0:
            self.close()
        else:
            self._timer = self._loop.call_later(rest, self._close_if_idle)
