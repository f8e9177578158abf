"""The answer to a check whose caller wants events: a JSON object in each line. The last line is the report or an error."""

import asyncio
from contextlib import suppress

import orjson
from starlette.responses import Response
from starlette.types import Send

from toolrack_runner.server.http.http_events import START


class ProgressStream:
    """Sends the answer. It begins with the first report of progress; before, an error is answered with plain JSON."""

    def __init__(self, send: Send) -> None:
        self._send = send
        #: The latest report. If the caller reads slowly, earlier reports are dropped.
        self._latest: str | None = None
        self._waits = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    @property
    def has_begun(self) -> bool:
        return self._sending is not None

    def tell(self, text: str) -> None:
        """Has a report of progress sent soon."""
        self._latest = text
        self._waits.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_reports())

    async def end(self, event: str, answer: Response) -> None:
        """Sends the last event, `report` or `error`, with the fields of the plain answer."""
        await self.stop()
        if self._sending is None:
            await self._send(START)
        fields = bytes(answer.body)
        if event == "error":
            error = orjson.loads(fields)["error"]
            code = error["details"][0]["reason"]
            fields = orjson.dumps({"code": code, "message": error["message"], "status": answer.status_code})
        line = b'{"event":"%b",' % event.encode() + fields[1:].replace(b"\n", b" ") + b"\n"
        await self._send({"type": "http.response.body", "body": line})

    async def stop(self) -> None:
        """Stops sending reports, after a report that is being sent."""
        if self._sending is not None:
            self._latest = None
            self._waits.set()
            with suppress(Exception):
                await self._sending

    async def _send_reports(self) -> None:
        await self._send(START)
        while True:
            await self._waits.wait()
            self._waits.clear()
            if self._latest is None:
                return
            line = orjson.dumps({"event": "progress", "text": self._latest}) + b"\n"
            await self._send({"type": "http.response.body", "body": line, "more_body": True})
