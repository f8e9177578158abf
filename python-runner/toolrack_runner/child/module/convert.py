"""Converts the arguments of a call from JSON to the types of the handler's annotations.

Pydantic reads each argument as strict JSON, as the derived schema describes it. Making a converter is slow, so a child makes
each converter only once, before its call. A conversion runs code of the module: validators, `__post_init__`, and methods of
types for pydantic. So every function here may raise any exception. It ends only a call of this module.
"""

import collections.abc
import json
import re
import typing
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolrack_runner.child.module.annotations import REST, to_convert
from toolrack_runner.child.module.facts import is_a
from toolrack_runner.child.module.handler import Handler
from toolrack_runner.child.module.user_traceback import cut_middle, exception_line

#: In arguments and results, bytes are a text in base64. An unknown key of a dataclass or a TypedDict is refused, like an
#: unknown argument. Pydantic models keep their own configuration.
CONFIGURATION = {"val_json_bytes": "base64", "ser_json_bytes": "base64", "extra": "forbid"}
#: How many problems of an argument a failure names. It says how many others there are, so it stays short.
_ERRORS_MAX = 3
#: How many characters of one problem a failure shows. A validator of the module may write any text.
_TEXT_CHARS_MAX = 500
_URL = re.compile(r"\s*For further information visit https://errors\.pydantic\.dev\S*")
_MISSING = (
    "missing",
    "missing_argument",
    "missing_keyword_only_argument",
    "missing_positional_only_argument",
)
_UNEXPECTED = ("extra_forbidden", "unexpected_keyword_argument")
_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)
#: Exceptions that show a mistake in the module's code. Any other exception that this code raises is about the argument.
_FAULTS_OF_THE_MODULE = (MemoryError, OSError, NameError, AttributeError, ImportError, RecursionError)


class ArgumentsError(Exception):
    """An argument cannot be converted. The text is a sentence that names the argument."""


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts the arguments of one handler."""

    _title: str
    _names: tuple[str, ...]
    #: The names of the arguments that are converted. `REST` is one of them if `**kwargs` is converted.
    _converted: frozenset[str]
    _validate: Any

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the arguments with Python values. Raises ArgumentsError, or whatever code of the module raises."""
        given = dict(arguments)
        for name, value in arguments.items():
            key = name if name in self._names else REST
            if key in self._converted:
                given[name] = self._one(name, key, value)
        return given

    def _one(self, name: str, key: str, value: object) -> object:
        try:
            return self._validate(json.dumps({key: value}), strict=True)[key]
        except Exception as error:
            if any(is_a(error, kind) for kind in _FAULTS_OF_THE_MODULE):
                raise
            refused = error
        raise ArgumentsError(
            f"{self._title}() can't use its argument '{name[:64]}': {_said(refused, name, value)}."
        )


def converter_of(handler: Handler) -> Converter | None:
    """The converter of a handler. None if its arguments stay as they are in JSON. May run code of the module, and raise."""
    hints = to_convert(handler)
    if not hints:
        return None
    return Converter(handler.title, handler.names, frozenset(hints), _validator(hints))


def _validator(hints: dict[str, Any]) -> Any:
    """A function that reads the JSON of a dict with any of these arguments."""
    return arguments_adapter(hints).validator.validate_json


def arguments_adapter(hints: dict[str, Any]) -> Any:
    """Makes the adapter of pydantic that converts a dict with any of these arguments. May run code of the module."""
    from pydantic import TypeAdapter
    from typing_extensions import TypedDict

    fields = {name: _eager(hint) for name, hint in hints.items()}
    make: Any = TypedDict
    arguments: Any = make("Arguments", fields, total=False)
    arguments.__pydantic_config__ = CONFIGURATION
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TypeAdapter(arguments)


def _eager(hint: Any) -> Any:
    """Replaces an iterable by a list. Otherwise pydantic converts each element only when the handler reads it."""
    if typing.get_origin(hint) in _LAZY:
        return list[typing.get_args(hint)[0]]  # type: ignore[misc]
    return hint


def _said(error: Exception, name: str, value: object) -> str:
    """A sentence that says what is wrong with the value, without a full stop. Never raises."""
    from pydantic_core import ValidationError

    try:
        if not is_a(error, ValidationError):
            return _cut(exception_line(error))
        problems = typing.cast("ValidationError", error).errors(include_url=False, include_input=False)
        shown = "; ".join(_problem(each, name, value) for each in problems[:_ERRORS_MAX])
    except BaseException:  # noqa: BLE001 - the text of an exception is code of the module
        return "the module refuses it, and the reason can't be read"
    more = len(problems) - _ERRORS_MAX
    return f"{shown}; and {more:,} more" if more > 0 else shown


def _problem(problem: Any, name: str, value: object) -> str:
    kind, text = problem["type"], problem["msg"]
    subject = _place(problem["loc"][1:], name, value, is_missing=kind in _MISSING)
    if kind == "json_invalid":
        return "it holds text that is no Unicode (a lone surrogate)"
    if kind in _MISSING:
        return f"{subject} is missing"
    if kind in _UNEXPECTED:
        return f"{subject} is not expected"
    if kind == "time_delta_parsing":
        return f"{subject} should be a valid duration, such as P14D or PT2H30M"
    for prefix in ("Input should be ", "Data should be "):
        if text.startswith(prefix):
            return f"{subject} should be {_cut(text.removeprefix(prefix))}"
    own = text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return _cut(own) if subject == "it" else f"{subject}: {_cut(own)}"


def _place(location: tuple[object, ...], name: str, value: object, *, is_missing: bool) -> str:
    """Where the problem is in the argument, such as `rows[2]['at']`. It is `it` for the argument itself.

    Pydantic also names branches of unions, which are left out.
    """
    place = ""
    for position, step in enumerate(location):
        if _is_key(value, step):
            value = value[step]  # type: ignore[index]
        elif not (is_missing and position == len(location) - 1):
            continue
        place += f"[{step[:64]!r}]" if isinstance(step, str) else f"[{step}]"
    return f"{name[:64]}{place}" if place else "it"


def _is_key(value: object, step: object) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _cut(text: str) -> str:
    return cut_middle(_URL.sub("", text), _TEXT_CHARS_MAX).rstrip(".")
