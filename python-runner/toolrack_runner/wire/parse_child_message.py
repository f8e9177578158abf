"""Reads the messages of a child, which may be hostile. The server process accepts objects of exactly these shapes."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any, TypeAlias

from toolrack_runner.limits import EXAMPLES_MAX, SPECS_MAX, TOOL_NAME_CHARS_MAX
from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.child_messages import ChildMessage, ProtocolError
from toolrack_runner.wire.connect_wish import is_host, is_port
from toolrack_runner.wire.content import (
    CONTENT_BYTES_MAX,
    PIECE_CHARACTERS_MAX,
    is_media_type,
    is_name,
)

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def parse_child_message(value: Any) -> ChildMessage:
    """Reads the message in a JSON value that a child has sent. Raises ProtocolError if the value is no message.

    What is in a report is checked by `server/pool/check_report.py`, and the text of a JsonResult by
    `server/pool/outcome.py`.
    """
    if type(value) is dict:
        for fields, make in _BY_NAMES.get(frozenset(value), ()):
            if _has_exactly(fields, value):
                return make(*[value[name] for name in fields])
    raise ProtocolError("it has the shape of no message")


# How values are checked. Types are compared exactly, because isinstance would accept a bool as an int.

Check: TypeAlias = Callable[[Any], bool]
Fields: TypeAlias = Mapping[str, Check]


def _has_exactly(fields: Fields, value: Any) -> bool:
    """Whether the value is an object with exactly these fields."""
    if type(value) is not dict or value.keys() != fields.keys():
        return False
    for name, check in fields.items():  # noqa: SIM110 - also runs in a child, where a module may have replaced `all`
        if not check(value[name]):
            return False
    return True


def _object(**fields: Check) -> Check:
    return partial(_has_exactly, fields)


def _text(characters_max: float = inf) -> Check:
    return lambda value: type(value) is str and len(value) <= characters_max


def _number(lowest: int, highest: int) -> Check:
    return lambda value: type(value) is int and lowest <= value <= highest


def _is_fraction(value: Any) -> bool:
    return (type(value) is float or type(value) is int) and 0 <= value <= 1


def _one_of(*texts: str) -> Check:
    return lambda value: type(value) is str and value in texts


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list(check: Check, most: int) -> Check:
    return lambda value: type(value) is list and len(value) <= most and all(map(check, value))


def _map(check_name: Check, check: Check, most: int) -> Check:
    return lambda value: (
        type(value) is dict
        and len(value) <= most
        and all(check_name(name) and check(each) for name, each in value.items())
    )


def _is_true(value: Any) -> bool:
    return value is True


def _is_bool(value: Any) -> bool:
    return value is True or value is False


def _is_base64(value: Any) -> bool:
    return _text(messages.CODE_CHARACTERS_MAX)(value) and _BASE64.fullmatch(value) is not None


def _is_piece(value: Any) -> bool:
    return _text(PIECE_CHARACTERS_MAX)(value) and _BASE64.fullmatch(value) is not None


def _is_media_type(value: Any) -> bool:
    return type(value) is str and is_media_type(value)


def _is_image_type(value: Any) -> bool:
    return _is_media_type(value) and value.startswith("image/")


def _is_name(value: Any) -> bool:
    return type(value) is str and is_name(value)


def _is_report(value: Any) -> bool:
    return type(value) is dict and _one_of("parsed", "imported", "loaded")(value.get("stage"))


_reason = _text(messages.REASON_CHARACTERS_MAX)
_tool = _text(TOOL_NAME_CHARS_MAX)
_code = _one_of(*messages.CHILD_CODES)
_error = _text(messages.ERROR_CHARACTERS_MAX)
_kind = _one_of(*messages.FAILURE_KINDS)
_example = _number(0, EXAMPLES_MAX - 1)
_line = _or_null(_number(1, messages.LINES_MAX))
_places = _map(_tool, _number(0, SPECS_MAX - 1), SPECS_MAX)
_call = _number(1, messages.REUSE_MAX - 1)
_values = _list(_text(), messages.VALUES_PER_MESSAGE_MAX)
_packages = _list(_text(messages.PACKAGE_CHARACTERS_MAX), messages.PACKAGES_MAX)
_size = _number(0, CONTENT_BYTES_MAX)
_image = _object(type=_one_of("image"), mimeType=_is_image_type, name=_is_name, bytes=_size)
_file = _object(type=_one_of("file"), mimeType=_is_media_type, name=_is_name, bytes=_size)


def _part(said: Any) -> messages.ContentPart:
    return messages.ContentPart(said["type"], said["mimeType"], said["name"], said["bytes"])


#: The fields of each message, and a function that makes the message from their values. No object fits two messages.
SHAPES: tuple[tuple[Fields, Callable[..., ChildMessage]], ...] = (
    ({"answer": _object(json=_text())}, lambda answer: messages.JsonResult(**answer)),
    ({"answer": _object(text=_text())}, lambda answer: messages.TextResult(**answer)),
    ({"answer": _object(code=_code, error=_error)}, lambda answer: messages.CallFailure(**answer)),
    ({"answer": _object(json=_text(), call=_call)}, lambda answer: messages.JsonResult(**answer)),
    ({"answer": _object(text=_text(), call=_call)}, lambda answer: messages.TextResult(**answer)),
    (
        {"answer": _object(code=_code, error=_error, call=_call)},
        lambda answer: messages.CallFailure(**answer),
    ),
    (
        {"answer": _object(code=_code, error=_error, kind=_kind)},
        lambda answer: messages.CallFailure(**answer),
    ),
    (
        {"answer": _object(code=_code, error=_error, kind=_kind, call=_call)},
        lambda answer: messages.CallFailure(**answer),
    ),
    ({"rested": _number(0, messages.REUSE_MAX - 1)}, messages.Rested),
    ({"starting": _is_true}, lambda _: messages.Starting()),
    ({"ready": _or_null(_places), "converts": _is_bool}, messages.Ready),
    ({"connect": _object(host=is_host, port=is_port)}, lambda wish: messages.Connect(**wish)),
    (
        {"progress": _object(fraction=_is_fraction, text=_text(messages.PROGRESS_CHARACTERS_MAX))},
        lambda progress: messages.Progress(**progress),
    ),
    ({"values": _values}, messages.Values),
    ({"content": _image}, _part),
    ({"content": _file}, _part),
    ({"piece": _is_piece}, messages.ContentPiece),
    ({"imports": _packages, "code": _or_null(_is_base64)}, messages.Imports),
    ({"failed": _reason}, messages.Failed),
    ({"stage": _is_report}, lambda report: messages.StageReport(report["stage"], report)),
    (
        {"stage": _object(stage=_one_of("running"), tool=_tool, example=_example, line=_line)},
        lambda running: messages.ExampleStarts(running["tool"], running["example"], running["line"]),
    ),
    ({"done": _is_true}, lambda _: messages.Done()),
    ({"sights": _map(_reason, _reason, messages.PROBES_MAX)}, messages.Sights),
)

#: The shapes by the names of their fields, because a message of a call is read for each call.
_BY_NAMES: dict[frozenset[str], list[tuple[Fields, Callable[..., ChildMessage]]]] = {}
for _shape in SHAPES:
    _BY_NAMES.setdefault(frozenset(_shape[0]), []).append(_shape)
