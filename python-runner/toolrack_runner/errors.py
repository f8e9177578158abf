"""The error codes that the runner uses. They are a part of the list in packages/contract/src/error-code.ts.

Recognize an error by its code, never by its text. Tests compare both lists with packages/contract/vectors/errors.json.
"""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """The HTTP status of an error, its status name, and whether a retry can succeed.

    `http_status` is 200 for errors of the tool itself.
    """

    http_status: int
    status: str
    retry: bool = False


ERROR_CODES = MappingProxyType(
    {
        # Answers of the routes.
        "REQUEST_MALFORMED": ErrorKind(400, "INVALID_ARGUMENT"),
        "BODY_INVALID": ErrorKind(400, "INVALID_ARGUMENT"),
        "TOKEN_INVALID": ErrorKind(401, "UNAUTHENTICATED"),
        "ROUTE_NOT_FOUND": ErrorKind(404, "NOT_FOUND"),
        "MODULE_UNKNOWN": ErrorKind(404, "NOT_FOUND"),
        "METHOD_NOT_ALLOWED": ErrorKind(405, "INVALID_ARGUMENT"),
        "BODY_TOO_LARGE": ErrorKind(413, "INVALID_ARGUMENT"),
        "RUNNER_BUSY": ErrorKind(429, "RESOURCE_EXHAUSTED", retry=True),
        "CANCELLED": ErrorKind(499, "CANCELLED"),
        "INTERNAL": ErrorKind(500, "INTERNAL"),
        "ISOLATION_UNAVAILABLE": ErrorKind(503, "UNAVAILABLE"),
        "RUNNER_UNAVAILABLE": ErrorKind(503, "UNAVAILABLE", retry=True),
        "PACKAGES_UNAVAILABLE": ErrorKind(503, "UNAVAILABLE", retry=True),
        # Outcomes of one call or check.
        "ARGUMENTS_INVALID": ErrorKind(400, "INVALID_ARGUMENT"),
        "TOOL_NOT_FOUND": ErrorKind(404, "NOT_FOUND"),
        "PACKAGES_REFUSED": ErrorKind(422, "INVALID_ARGUMENT"),
        "MODULE_INVALID": ErrorKind(422, "INVALID_ARGUMENT"),
        "MODULE_BROKEN": ErrorKind(200, "OK"),
        "TOOL_RAISED": ErrorKind(200, "OK"),
        "TOOL_CRASHED": ErrorKind(200, "OK"),
        "RESULT_INVALID": ErrorKind(200, "OK"),
        "RESULT_TOO_LARGE": ErrorKind(200, "OK"),
        "MEMORY_LIMIT": ErrorKind(200, "OK"),
        "DISK_LIMIT": ErrorKind(200, "OK"),
        "CPU_LIMIT": ErrorKind(200, "OK"),
        "WORKER_DIED": ErrorKind(503, "UNAVAILABLE"),
        "DEADLINE_EXCEEDED": ErrorKind(504, "DEADLINE_EXCEEDED"),
    }
)
