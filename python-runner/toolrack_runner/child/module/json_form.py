"""The JSON form of a value that a handler has returned, if its type has one: dates, enums, dataclasses, models, and more.

Scalars of numpy and missing values of pandas have one too (`package_scalars.py`). The form of a standard type is made with
methods of that type, and never with methods of a subclass in the module. Only for dataclasses, models and the order of sets,
code of the module runs. The limits of the call bound it.
"""

from binascii import b2a_base64
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any

from toolrack_runner.child.module.content import CONTENT
from toolrack_runner.child.module.facts import class_name, has_method
from toolrack_runner.child.module.package_scalars import form_of_scalar, is_missing, scalar_of_numpy
from toolrack_runner.child.module.toolrack_module import Made

#: A set of these types is sorted before its elements become texts, because the texts would be in another order.
_ORDERED = {"Decimal", "timedelta", "date", "datetime", "time"}
NO_FORM = object()


def json_form(value: object) -> object:
    """Returns the JSON form of a value: a dict, list, text or other value. `NO_FORM` if there is none.

    May run code of the module. The parts of the form may need a form themselves. Raises ResultError or ContentTooLargeError
    for an image or a file that the result cannot have.
    """
    kind = type(value)
    if issubclass(kind, Made):
        return CONTENT.form(value)  # type: ignore[arg-type]
    if is_missing(value):  # Comes first, because `pandas.NaT` is also a datetime.
        return None
    for base, form in _forms():
        if issubclass(kind, base):
            return form(value)
    if has_method(value, "__dataclass_fields__"):
        return {each.name: getattr(value, each.name) for each in fields(value)}  # type: ignore[arg-type]
    if has_method(value, "__pydantic_serializer__") and has_method(value, "model_dump"):
        return value.model_dump(mode="json")  # type: ignore[attr-defined]
    generic = scalar_of_numpy(value)
    return NO_FORM if generic is None else form_of_scalar(value, generic)


def as_set(value: object) -> list[object] | None:
    """The elements of a set or a frozenset; None for anything else."""
    for kind in (set, frozenset):
        if issubclass(type(value), kind):
            return list(kind.__iter__(value))  # type: ignore[arg-type]
    return None


def in_order(members: list[object], form: Callable[[object], Any]) -> list[Any]:
    """The JSON forms of a set's elements, sorted. Decimals and times are sorted by value, all others by their JSON form."""
    kinds = {class_name(type(each)) for each in members}
    is_sorted = False
    if len(kinds) == 1 and kinds <= _ORDERED:
        with suppress(TypeError):  # Times with and without a zone have no order.
            members, is_sorted = sorted(members), True  # type: ignore[type-var]
    forms = [form(each) for each in members]
    try:
        return forms if is_sorted else sorted(forms)
    except TypeError:
        return sorted(forms, key=repr)


@cache
def _forms() -> tuple[tuple[type, Callable[[Any], object]], ...]:
    """The standard types, each with the function that makes its JSON form. A subclass comes before its base.

    The types are only imported when a result needs them.
    """
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from enum import Enum
    from pathlib import PurePath
    from uuid import UUID

    return (
        (Enum, lambda value: object.__getattribute__(value, "_value_")),
        (datetime, datetime.isoformat),
        (date, date.isoformat),
        (time, time.isoformat),
        (timedelta, _duration),
        (Decimal, Decimal.__str__),
        (UUID, UUID.__str__),
        (PurePath, PurePath.__str__),
        (bytes, _base64),
        (bytearray, _base64),
        (memoryview, _base64),
    )


def _base64(value: bytes) -> str:
    return b2a_base64(value, newline=False).decode()


def _duration(value: Any) -> str:
    """A duration in ISO 8601.

    The largest unit is days, because years and months have no fixed length: `P400DT2H0.5S`, `-PT1S`.
    """
    from datetime import timedelta

    sign = "-" if timedelta.__lt__(value, timedelta()) else ""
    whole = timedelta.__abs__(value)
    minutes, seconds = divmod(whole.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{whole.microseconds:06d}".rstrip("0") if whole.microseconds else ""
    parts = [f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number]
    if seconds or fraction:
        parts.append(f"{seconds}{fraction}S")
    days = f"{whole.days}D" if whole.days else ""
    return f"{sign}P{days}T{''.join(parts)}" if parts else f"{sign}P{days or 'T0S'}"
