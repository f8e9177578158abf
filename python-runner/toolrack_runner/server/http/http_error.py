"""Errors of the routes, in the format of Google's APIs. They concern the request or the runner, never the tool."""

import logging
from collections.abc import Mapping

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.errors import ERROR_CODES
from toolrack_runner.server.http.answer import Answer

_log = logging.getLogger("toolrack_runner")
_OF_STATUS = {404: "ROUTE_NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


class HttpError(Exception):
    """An error of a route. Its code identifies it. The message is for the caller, and never repeats a rejected value."""

    def __init__(self, code: str, message: str, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_seconds = retry_after_seconds

    def answer(self) -> Answer:
        """The answer for this error, with the HTTP status of its code."""
        kind = ERROR_CODES[self.code]
        body = {
            "error": {
                "code": kind.http_status,
                "status": kind.status,
                "message": str(self),
                "details": [{"reason": self.code}],
            }
        }
        return Answer(orjson.dumps(body), kind.http_status, self.retry_after_seconds)


async def answer_error(_request: Request, error: Exception) -> Response:
    """The HTTP response to a request whose handler has raised `error`."""
    if isinstance(error, HTTPException):  # No route has this path and method.
        code = _OF_STATUS.get(error.status_code, "REQUEST_MALFORMED")
        message = "the runner has POST /check, POST /invoke, POST /forget and GET /health"
        error = HttpError(code, message)
    return error_answer(error).response()


def error_answer(error: Exception, log_fields: Mapping[str, str] | None = None) -> Answer:
    """The answer to a request whose handler has raised `error`.

    If the error was not expected, its reason is only in the log, in a line with `log_fields`.
    """
    if isinstance(error, HttpError):
        return error.answer()
    _log.error("a request failed", exc_info=error, extra=log_fields)
    return HttpError("INTERNAL", "the runner failed; its log has the reason").answer()
