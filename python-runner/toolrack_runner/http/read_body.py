"""Reads a body of bounded size and depth as one JSON object."""

from typing import Any

from starlette.requests import ClientDisconnect, Request

from toolrack_runner.http.fault import Fault
from toolrack_runner.wire.json_depth import TooDeep, read_json

#: A source of 256 KB, each byte of it escaped, and arguments of 256 KB beside it.
BODY_BYTES_MAX = 2 << 20
#: Levels of a body: the arguments' 32 below the two of the body itself.
DEPTH_MAX = 34


async def read_body(request: Request) -> dict[str, Any]:
    """The object that the body holds; raises Fault."""
    value = _parse(await _read_bytes(request))
    if not isinstance(value, dict):
        raise Fault("BODY_INVALID", "the body is JSON, but not an object")
    return value


async def _read_bytes(request: Request) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > BODY_BYTES_MAX:
        raise _too_large()
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > BODY_BYTES_MAX:
                raise _too_large()
    except ClientDisconnect:
        raise Fault("BODY_INVALID", "the caller has gone before the whole body had come") from None
    return bytes(data)


def _parse(data: bytes) -> Any:
    try:
        return read_json(data, DEPTH_MAX)
    except TooDeep:
        raise Fault(
            "BODY_INVALID", f"the body has more than {DEPTH_MAX} levels of arrays and objects"
        ) from None
    except ValueError as error:
        raise Fault("BODY_INVALID", f"the body is not valid JSON: {error}") from None


def _too_large() -> Fault:
    return Fault("BODY_TOO_LARGE", f"the body has more than the {BODY_BYTES_MAX} bytes that are taken")
