"""The answer to a request, before it is written as HTTP or as a frame."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.background import BackgroundTask
from starlette.responses import Response


class Answer(NamedTuple):
    """The JSON of an answer, with its HTTP status."""

    body: bytes
    status: int = 200
    #: After how many seconds the caller may try again, if that is known.
    retry_after_seconds: int | None = None
    #: Work for the time after the answer is sent, so that it does not delay the answer.
    afterwards: Callable[[], Awaitable[None]] | None = None

    def response(self) -> Response:
        """This answer as an HTTP response, which also does the work for afterwards."""
        headers = {} if self.status == 200 else {"Cache-Control": "private, no-store"}
        if self.retry_after_seconds is not None:
            headers["Retry-After"] = str(self.retry_after_seconds)
        work = None if self.afterwards is None else BackgroundTask(self.afterwards)
        return Response(self.body, self.status, headers, "application/json", work)
