"""From any Python value to plain JSON data: exact types, no code of the module behind them."""

from math import isfinite
from typing import TypeAlias

from toolrack_runner.module.class_facts import type_name

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

_VALUES_MAX = 20_000
_WHERE_CHARS_MAX = 100


class NotPlain(Exception):
    """A value that JSON has no form for; `where` leads to it, as an author would write the expression."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")
        self.where = where
        self.what = what


def plain_value(value: object, where: str, *, depth_max: int) -> JsonValue:
    """A copy of exact dicts, lists, strings and numbers; raises NotPlain at the first thing that is none of them."""
    return _Copier(depth_max).copy(value, where, 1)


def plain_object(value: object, where: str, *, depth_max: int) -> JsonObject:
    """The same for what must be a dict."""
    copied = plain_value(value, where, depth_max=depth_max)
    if not isinstance(copied, dict):
        raise NotPlain(where, f"is {type_name(value)} where a dict is needed")
    return copied


def as_text(value: object) -> str | None:
    """The characters of a string, past whatever its class overrides; None for what is no string."""
    return str.__str__(value) if issubclass(type(value), str) else None


def as_items(value: object) -> list[tuple[object, object]] | None:
    """What a dict holds, past whatever its class and the classes of its keys override; None for what is no dict."""
    return list(dict.items(value)) if issubclass(type(value), dict) else None  # type: ignore[arg-type]


def as_list(value: object) -> list[object] | None:
    """What a list or tuple holds, past whatever its class overrides; None for what is neither."""
    if issubclass(type(value), list):
        return list(list.__iter__(value))  # type: ignore[arg-type]
    if issubclass(type(value), tuple):
        return list(tuple.__iter__(value))  # type: ignore[arg-type]
    return None


class _Copier:
    def __init__(self, depth_max: int) -> None:
        self._depth_max = depth_max
        self._values = 0

    def copy(self, value: object, where: str, depth: int) -> JsonValue:
        self._values += 1
        if self._values > _VALUES_MAX:
            raise NotPlain(where, f"is beyond the {_VALUES_MAX:,} values allowed")
        items = as_items(value)
        elements = as_list(value)
        if items is None and elements is None:
            return _scalar(value, where)
        if depth > self._depth_max:
            raise NotPlain(where[:_WHERE_CHARS_MAX], f"is nested deeper than {self._depth_max} levels")
        if elements is not None:
            return [self.copy(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(elements)]
        copied: JsonObject = {}
        for key, item in items or []:
            name = as_text(key)
            if name is None:
                raise NotPlain(where, f"has {type_name(key)} as a key where a string is needed")
            copied[name] = self.copy(item, f"{where}[{name[:64]!r}]", depth + 1)
        return copied


def _scalar(value: object, where: str) -> JsonValue:
    if value is None or value is True or value is False:
        return value
    text = as_text(value)
    if text is not None:
        return text
    if issubclass(type(value), int):
        return int.__pos__(value)  # type: ignore[arg-type]
    if not issubclass(type(value), float):
        raise NotPlain(where, f"is {type_name(value)}, which JSON has no form for")
    number: float = float.__pos__(value)  # type: ignore[arg-type]
    if not isfinite(number):
        raise NotPlain(where, f"is {number}, which JSON has no form for")
    return number
