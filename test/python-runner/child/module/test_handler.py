"""What a call of a function takes to know is the same, whether read off its signature or off its code."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from toolrack_runner.child.module.handler import plain_handler, read_handler


def nothing() -> None: ...


def some(city: str, days: int = 3, *, unit: str, zone: str = "utc") -> None: ...


def with_context(city: str, context: object, /, **rest: Any) -> None: ...


def with_own_context(*, city: str = "", context: object = None, **rest: Any) -> None: ...


async def later(city: str) -> None: ...


def with_locals(city: str) -> str:
    unit = days = city
    return unit + days


@functools.wraps(some)
def wrapped(**arguments: Any) -> None: ...


class Place:
    def some(self, city: str) -> None: ...

    def __call__(self, city: str) -> None: ...


PLAIN = [nothing, some, with_own_context, later, with_locals, lambda city, days=2: (city, days)]


@pytest.mark.parametrize("function", PLAIN)
def test_a_plain_function_is_read_off_its_code_as_off_its_signature(function: Callable[..., Any]) -> None:
    plain, whole = plain_handler(function), read_handler(function, "x.py")

    assert plain is not None
    for name in ("call", "title", "names", "required", "takes_context", "takes_any"):
        assert getattr(plain, name) == getattr(whole, name)


@pytest.mark.parametrize(
    "value", [wrapped, functools.partial(some, "Bern"), Place().some, Place(), Place, len, "some", None]
)
def test_what_is_no_plain_function_is_left_to_its_signature(value: object) -> None:
    assert plain_handler(value) is None
