"""Reads the body of a request: one JSON object of bounded size and depth, and its fields."""

import re

from starlette.requests import ClientDisconnect, Request

from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.wire.json_depth import TooDeepError, read_json

#: The most bytes of a body. It has room for files of 512 KB in which each byte is escaped, and for arguments of 256 KB.
BODY_BYTES_MAX = 4 << 20
#: The most bytes of the body of a call. It also has room for files for the arguments: 8 MB, which are 10.7 MB in base64.
CALL_BYTES_MAX = 12 << 20
#: The most levels of a body. Arguments may have 32 levels, and the body adds two.
DEPTH_MAX = 34
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


async def read_body(request: Request, *known: str) -> "Body":
    """Reads the body of a request. Raises HttpError, as `parse_body` does."""
    return parse_body(await read_bytes(request), *known)


def parse_body(data: bytes, *known: str) -> "Body":
    """Parses a body. Raises HttpError if it is not an object, or has a field that is not in `known`."""
    try:
        value = read_json(data, DEPTH_MAX)
    except TooDeepError:
        raise _invalid(f"the body has more than {DEPTH_MAX} levels of arrays and objects") from None
    except ValueError as error:
        raise _invalid(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise _invalid("the body is JSON, but not an object")
    return Body(value, *known)


class Body:
    """Reads the fields of an object. If a field is wrong, the HttpError says which one, and what would be right."""

    def __init__(self, fields: JsonObject, *known: str, where: str = "") -> None:
        if not fields.keys() <= set(known):
            names = ", ".join(sorted(known))
            raise _invalid(f"{where}the body has a field that is not known here; it takes {names}")
        self._fields = fields

    def get(self, name: str, default: JsonValue = None) -> JsonValue:
        """Any value; `default` if the field is absent."""
        return self._fields.get(name, default)

    def text(self, name: str, *, characters_max: int) -> str:
        """A string that is not empty."""
        value = self.get(name)
        if not isinstance(value, str) or not value or len(value) > characters_max:
            raise _invalid(f"{name} must be a string of 1 to {characters_max} characters")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string of any length; None if the field is absent or null."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise _invalid(f"{name} must be a string")
        return value

    def tenant(self) -> str | None:
        """The user; None if the field is absent or null."""
        return None if self.get("tenant") is None else self.text("tenant", characters_max=256)

    def digest(self, name: str) -> str:
        value = self.text(name, characters_max=64)
        if not _SHA256.fullmatch(value):
            raise _invalid(f"{name} must be 64 lower-case hexadecimal digits")
        return value

    def whole_number(self, name: str, lowest: int, highest: int, *, default: int) -> int:
        """An integer from `lowest` to `highest`; `default` if the field is absent."""
        value = self.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise _invalid(f"{name} must be a whole number from {lowest} to {highest}")
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        """True or False; `default` if the field is absent."""
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise _invalid(f"{name} must be true or false")
        return value

    def an_object(self, name: str, *, default: JsonObject | None = None) -> JsonObject:
        value = self.get(name, default)
        if not isinstance(value, dict):
            raise _invalid(f"{name} must be an object")
        return value


async def read_bytes(request: Request, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The bytes of a body. Raises HttpError if there are too many, or if the caller leaves before the last one."""
    length = request.headers.get("content-length", "")
    data = bytearray()
    try:
        if length.isdigit() and int(length) > bytes_max:
            raise too_large(bytes_max)
        async for part in request.stream():
            data += part
            if len(data) > bytes_max:
                raise too_large(bytes_max)
    except ClientDisconnect:
        raise _invalid("the caller closed the connection before the whole body arrived") from None
    return bytes(data)


def _invalid(message: str) -> HttpError:
    return HttpError("BODY_INVALID", message)


def too_large(bytes_max: int) -> HttpError:
    """The error for a body above its limit."""
    return HttpError("BODY_TOO_LARGE", f"the body has more than {bytes_max} bytes")
