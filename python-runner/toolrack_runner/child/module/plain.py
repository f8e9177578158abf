"""Copies any Python value to plain JSON data. The copy has no classes of the module, so using it runs none of its code."""

from itertools import count
from math import isfinite

from toolrack_runner.child.module.facts import as_items, as_list, as_text, type_name
from toolrack_runner.wire.frames import JsonObject, JsonValue

#: How many values one field of a spec may contain. They are copied one by one.
_VALUES_MAX = 20_000
#: How many characters of an expression a fault shows. The rest is cut.
_WHERE_CHARS_MAX = 100


class NotPlainError(Exception):
    """A value cannot be JSON. The text begins with an expression that says which value, such as `parameters['type']`."""


def plain_value(value: object, where: str, *, depth_max: int) -> JsonValue:
    """Copies a value. The copy has only exact dicts, lists, strings and numbers. Raises NotPlainError."""
    number = count(1)

    def copy(value: object, where: str, depth: int) -> JsonValue:
        if next(number) > _VALUES_MAX:
            raise NotPlainError(f"{where} is beyond the {_VALUES_MAX:,} values allowed")
        items, elements = as_items(value), as_list(value)
        if items is None and elements is None:
            return _scalar(value, where)
        if depth > depth_max:
            raise NotPlainError(f"{where[:_WHERE_CHARS_MAX]} is nested deeper than {depth_max} levels")
        if elements is not None:
            return [copy(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(elements)]
        copied: JsonObject = {}
        for key, item in items or []:
            name = as_text(key)
            if name is None:
                raise NotPlainError(f"{where} has {type_name(key)} as a key where a string is needed")
            copied[name] = copy(item, f"{where}[{name[:64]!r}]", depth + 1)
        return copied

    return copy(value, where, 1)


def plain_object(value: object, where: str, *, depth_max: int) -> JsonObject:
    """Like `plain_value`, for a value that must be a dict."""
    copied = plain_value(value, where, depth_max=depth_max)
    if not isinstance(copied, dict):
        raise NotPlainError(f"{where} is {type_name(value)} where a dict is needed")
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
        raise NotPlainError(f"{where} is {type_name(value)}, which JSON has no form for")
    number: float = float.__pos__(value)  # type: ignore[arg-type]
    if not isfinite(number):
        raise NotPlainError(f"{where} is {number}, which JSON has no form for")
    return number
