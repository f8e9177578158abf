"""Errors in Google's shape."""

import logging

import orjson
from starlette.responses import Response

from toolrack_runner.errors import ERROR_CODES
from toolrack_runner.http.fault import Fault

_log = logging.getLogger("toolrack_runner")
_OF_STATUS = {404: "ROUTE_NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def answer_fault(fault: Fault) -> Response:
    """The answer to a fault that was foreseen."""
    kind = ERROR_CODES[fault.code]
    body = {
        "error": {
            "code": kind.http_status,
            "status": kind.status,
            "message": fault.message,
            "details": [{"reason": fault.code}],
        }
    }
    headers = {"Cache-Control": "private, no-store"}
    if fault.retry_after_seconds is not None:
        headers["Retry-After"] = str(fault.retry_after_seconds)
    return Response(orjson.dumps(body), kind.http_status, headers, "application/json")


def answer_http(status: int) -> Response:
    """The answer where no route took the request."""
    code = _OF_STATUS.get(status, "REQUEST_MALFORMED")
    return answer_fault(Fault(code, "the runner has POST /check, POST /invoke, POST /forget and GET /health"))


def answer_unforeseen(error: Exception) -> Response:
    """The answer to a fault of the program: the log has it, the caller does not."""
    _log.error("a request failed", exc_info=error)
    return answer_fault(Fault("INTERNAL", "the runner failed; its log has the reason"))
