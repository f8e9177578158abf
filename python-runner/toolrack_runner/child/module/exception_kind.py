"""Tells of which kind an exception of a tool is, by its class: the definition of a tool can treat these kinds apart."""

from typing import Any

from toolrack_runner.child.module.facts import bases, chain, class_name, is_a, module_name
from toolrack_runner.wire.child_messages import FailureKind

# Classes by their package and name. They are not imported, because most tools do not use them.
_URL_ERROR = frozenset({("urllib", "URLError")})
_HTTP_ERROR = frozenset({("urllib", "HTTPError")})
_TIMEOUTS = frozenset(
    {
        *(("httpx", "TimeoutException"), ("httpcore", "TimeoutException")),
        *(("requests", "Timeout"), ("urllib3", "TimeoutError")),
    }
)
_NETWORK = frozenset(
    {
        *(("socket", "gaierror"), ("socket", "herror"), ("urllib", "URLError")),
        *(("httpx", "NetworkError"), ("httpx", "RemoteProtocolError")),
        *(("httpcore", "NetworkError"), ("httpcore", "RemoteProtocolError")),
        *(("requests", "ConnectionError"), ("aiohttp", "ClientConnectionError")),
        *(("urllib3", "NewConnectionError"), ("urllib3", "MaxRetryError"), ("urllib3", "ProtocolError")),
    }
)

#: Returns the attributes of an exception, without its own code.
_attributes = BaseException.__dict__["__dict__"].__get__


def exception_kind(error: BaseException) -> FailureKind | None:
    """The kind of an exception, or None if its class says none. Runs no code of the module.

    The text of an exception is not read. An HTTP error is of no kind, because the other program was reached.
    """
    if any(map(_is_refusal, chain(error))):
        return "permission"
    found = _reason(error)
    if is_a(found, TimeoutError) or _is_one_of(found, _TIMEOUTS):
        return "timeout"
    if is_a(found, PermissionError):
        return "permission"
    if _is_one_of(found, _HTTP_ERROR):
        return None
    return "network" if is_a(found, ConnectionError) or _is_one_of(found, _NETWORK) else None


def _is_refusal(error: BaseException) -> bool:
    """True if the broker has refused a connection. A library may have raised its own exception for it."""
    return is_a(error, PermissionError) and is_a(error, ConnectionRefusedError)


def _reason(error: BaseException) -> BaseException:
    """The exception from which urllib has made its own, or the exception itself."""
    if not _is_one_of(error, _URL_ERROR) or _is_one_of(error, _HTTP_ERROR):
        return error
    reason: Any = dict.get(_attributes(error), "reason")
    return reason if issubclass(type(reason), BaseException) else error


def _is_one_of(error: BaseException, classes: frozenset[tuple[str, str]]) -> bool:
    return any((module_name(kind), class_name(kind)) in classes for kind in bases(type(error)))
