"""The HTTP answer to a call whose caller wants events. The last line is the outcome."""

from starlette.types import Receive, Scope, Send

from toolrack_runner.server.http.answer import Answer
from toolrack_runner.server.http.event_stream import EventStream

NDJSON = "application/x-ndjson"
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", NDJSON.encode()), (b"cache-control", b"private, no-store")],
}


class HttpEvents:
    """Answers a call. The stream begins with the first event. If there is no event, the answer is plain JSON."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False
        self.stream = EventStream(self._send_lines)

    async def answer(self, answer: Answer, scope: Scope, receive: Receive) -> None:
        """Sends the events that still wait, and then the answer."""
        rest = await self.stream.end()
        if not self._has_begun and not rest:
            await answer.response()(scope, receive, self._send)
            return
        if answer.status != 200:
            # If the stream ends without an outcome, the caller knows that something has failed.
            return
        # The JSON of a result may have line breaks, but the outcome must be one line.
        line = b'{"event":"outcome",' + answer.body[1:].replace(b"\n", b" ") + b"\n"
        await self._begin()
        await self._send({"type": "http.response.body", "body": rest + line})
        if answer.afterwards is not None:
            await answer.afterwards()

    async def _send_lines(self, lines: bytes) -> None:
        await self._begin()
        await self._send({"type": "http.response.body", "body": lines, "more_body": True})

    async def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            await self._send(START)
