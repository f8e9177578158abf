"""Reads the files for the arguments of a call from its body."""

import re
from binascii import a2b_base64
from collections.abc import Mapping

from toolrack_runner.server.http.body import Body
from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.wire.content import ATTACHED_MAX, CONTENT_BYTES_MAX, NAME_CHARACTERS_MAX
from toolrack_runner.wire.frames import JsonObject, JsonValue

#: The most characters of a JSON Pointer to an argument. Arguments have at most 32 levels.
POINTER_CHARACTERS_MAX = 4_096
_INDEX = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)


def attached_in(body: Body, arguments: JsonObject) -> tuple[Mapping[str, str], ...]:
    """The files for the arguments: for each `pointer`, `name` and `data`, as in the body. Raises HttpError.

    Each pointer leads to a text in the arguments, and no two lead to the same one.
    """
    given = body.get("attached", [])
    if not isinstance(given, list) or len(given) > ATTACHED_MAX:
        raise _invalid(f"attached must be a list of at most {ATTACHED_MAX} files")
    found: dict[str, Mapping[str, str]] = {}
    total = 0
    for number, each in enumerate(given):
        file = Body(each if isinstance(each, dict) else {}, "pointer", "name", "data", where="attached: ")
        pointer = file.text("pointer", characters_max=POINTER_CHARACTERS_MAX)
        name = file.text("name", characters_max=2 * NAME_CHARACTERS_MAX)
        data = file.optional_text("data")
        try:
            total += len(a2b_base64(data or "", strict_mode=True))
        except ValueError:
            raise _invalid(f"attached[{number}].data must be a text in base64") from None
        if data is None or pointer in found or not isinstance(_at(arguments, pointer), str):
            raise _invalid(
                f"attached[{number}].pointer must lead to a text in the arguments, and to no other file"
            )
        found[pointer] = {"pointer": pointer, "name": name, "data": data}
    if total > CONTENT_BYTES_MAX:
        raise _invalid(f"the files of attached may have {CONTENT_BYTES_MAX} bytes together")
    return tuple(found.values())


def _at(value: JsonValue, pointer: str) -> JsonValue:
    """The value at a JSON Pointer (RFC 6901). None if there is no such value."""
    first, *steps = pointer.split("/")
    if first:
        return None
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _invalid(message: str) -> HttpError:
    return HttpError("BODY_INVALID", message)
