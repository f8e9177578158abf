"""Reads the fields of a body, each by what it must be; the errors say which field, and what would be right."""

import re
from collections.abc import Mapping
from typing import Any

from toolrack_runner.http.fault import Fault

Body = Mapping[str, Any]
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def refuse_unknown(body: Body, known: frozenset[str], where: str = "") -> None:
    """A field that nobody reads is a mistake of the caller's, and is told."""
    for name in body:
        if name not in known:
            raise Fault(
                "BODY_INVALID", f"{where}the body has a field that is not known here; it takes {_list(known)}"
            )


def text(body: Body, name: str, *, characters_max: int, default: str | None = None) -> str:
    """A string that is not empty."""
    value = body.get(name, default)
    if not isinstance(value, str) or not value or len(value) > characters_max:
        raise Fault("BODY_INVALID", f"{name} must be a string of 1 to {characters_max} characters")
    return value


def digest(body: Body, name: str) -> str:
    """A sha256 in hexadecimal digits."""
    value = text(body, name, characters_max=64)
    if not _SHA256.fullmatch(value):
        raise Fault("BODY_INVALID", f"{name} must be 64 lower-case hexadecimal digits")
    return value


def whole_number(body: Body, name: str, *, lowest: int, highest: int, default: int | None = None) -> int:
    """An integer within its bounds; `default` where the field is absent."""
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise Fault("BODY_INVALID", f"{name} must be a whole number from {lowest} to {highest}")
    return value


def an_object(body: Body, name: str, *, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """A JSON object; `default` where the field is absent."""
    value = body.get(name, default)
    if not isinstance(value, dict):
        raise Fault("BODY_INVALID", f"{name} must be an object")
    return value


def optional_text(body: Body, name: str) -> str | None:
    """A string of any length, or nothing."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise Fault("BODY_INVALID", f"{name} must be a string")
    return value


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
