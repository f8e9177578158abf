"""Copies a result to plain JSON data. Replaces each part by its JSON form, and names the first part that has none."""

import sys
from collections.abc import Callable
from inspect import CORO_CREATED, getcoroutinestate
from math import isfinite, isnan
from types import CoroutineType

from toolrack_runner.child.module.facts import (
    as_items,
    as_list,
    as_text,
    bases,
    class_name,
    has_method,
    type_name,
)
from toolrack_runner.child.module.json_form import NO_FORM, as_set, in_order, json_form
from toolrack_runner.child.module.package_scalars import scalar_of_numpy
from toolrack_runner.child.module.result_errors import ResultError
from toolrack_runner.child.module.secrets_of_call import shortened
from toolrack_runner.limits import RESULT_DEPTH_MAX
from toolrack_runner.wire.frames import JsonValue
from toolrack_runner.wire.json_depth import VALUES_MAX

RETURN_PLAIN = "return text, or dicts, lists, strings, numbers, True, False and None"
TOO_DEEP = f"the result is nested deeper than {RESULT_DEPTH_MAX} levels, or holds itself; flatten it"

_LIST = "return list(value)"
#: pandas makes a plain NaN of each missing value, in `to_dict` and `tolist`.
_WITHOUT_NAN = "value.replace({float('nan'): None})"
_ITERABLES = ("generator", "dict_keys", "dict_values", "dict_items", "map", "filter", "zip", "range", "deque")
_CURES = {
    **dict.fromkeys(_ITERABLES, _LIST),
    **dict.fromkeys(("function", "method", "builtin_function_or_method"), "call it"),
    "coroutine": "await it in an async def",
    "ndarray": "return value.tolist()",
    **dict.fromkeys(("Series", "Index"), "return value.tolist()"),
    "DataFrame": f"return {_WITHOUT_NAN}.to_dict('records')",
}
_METHOD_CURES = (
    ("model_dump", "return value.model_dump(mode='json')"),
    ("__fspath__", "return str(value)"),
    ("item", "return value.item()"),
    ("__next__", _LIST),
)
#: The most bits of a whole number that Python converts to a text. It has at most 4,300 digits.
_BITS_MAX = 14_284
#: How deeply values may be nested. A dataclass counts as two levels: itself and its dict. The levels of the JSON are counted
#: later.
_STEPS_MAX = 2 * RESULT_DEPTH_MAX + 2


class _PartError(Exception):
    """A part of the result has no JSON form.

    `said` makes a sentence from the place of the part. `path` has the keys that lead to the part, the innermost first.
    """

    def __init__(self, said: Callable[[str], str]) -> None:
        super().__init__()
        self.said = said
        self.path: list[object] = []


def formed(returned: object) -> JsonValue:
    """Copies a result. Runs methods of the module, and raises what they raise. Raises ResultError if it cannot be JSON."""
    try:
        return _Copy().of(returned, 0)
    except _PartError as error:
        place = "".join(f"[{_shown(key)}]" for key in reversed(error.path))
        raise ResultError(error.said(f"the result{place}")) from None
    except RecursionError:
        raise ResultError(TOO_DEEP) from None


class _Copy:
    """Makes one copy. The number of values is limited, because making a value's JSON form may add values endlessly."""

    def __init__(self) -> None:
        self._values = 0
        #: The ids of the values in which the current value is.
        self._around: set[int] = set()

    def of(self, value: object, steps: int) -> JsonValue:
        self._values += 1
        if self._values > VALUES_MAX:
            raise ResultError(f"the result holds more than {VALUES_MAX:,} values; return less")
        text = as_text(value)
        if text is not None or value is None or value is True or value is False:
            return text if text is not None else value  # type: ignore[return-value]
        if issubclass(type(value), int | float):
            return _number(value)
        if id(value) in self._around:
            raise _PartError(lambda where: f"{where} {_CYCLE}")
        if steps > _STEPS_MAX:
            raise ResultError(TOO_DEEP)
        self._around.add(id(value))
        copied = self._composed(value, steps + 1)
        self._around.discard(id(value))
        return copied

    def _composed(self, value: object, steps: int) -> JsonValue:
        items = as_items(value)
        if items is not None:
            return {_key(key): self._part(key, each, steps) for key, each in items}  # type: ignore[misc]
        elements = as_list(value)
        if elements is not None:
            return [self._part(index, each, steps) for index, each in enumerate(elements)]
        members = as_set(value)
        if members is not None:
            return in_order(members, lambda each: self._part(_ELEMENT, each, steps))
        form = json_form(value)
        if form is NO_FORM:
            if type(value) is CoroutineType and getcoroutinestate(value) == CORO_CREATED:
                # Closes the coroutine. Otherwise Python would warn in the log of the call that it was never awaited, with a
                # path of the runner.
                value.close()
            raise _PartError(
                lambda where: f"{where} is {type_name(value)}, which JSON has no form for; {_cure(value)}"
            )
        return self.of(form, steps)

    def _part(self, key: object, value: object, steps: int) -> JsonValue:
        try:
            return self.of(value, steps)
        except _PartError as error:
            error.path.append(key)
            raise


_CYCLE = "holds itself, so its JSON would never end; return a copy without the cycle"
#: Stands for the place of an element in a set.
_ELEMENT = object()


def _number(value: object) -> int | float | None:
    if issubclass(type(value), int):
        if int.bit_length(value) > _BITS_MAX:  # type: ignore[arg-type]
            cure = "return hex(value), or round it"
            raise _PartError(lambda where: f"{where} is a number of more than 4,300 digits; {cure}")
        return int.__pos__(value)  # type: ignore[arg-type]
    number: float = float.__pos__(value)  # type: ignore[arg-type]
    if isnan(number) and scalar_of_numpy(value) is not None:
        return None
    if not isfinite(number):
        cure = "return None, or text in its place"
        if isnan(number) and "pandas" in sys.modules:
            cure += f". For a table of pandas: {_WITHOUT_NAN}"
        raise _PartError(lambda where: f"{where} is {number}, which JSON has no form for; {cure}")
    return number


def _key(key: object) -> str | int | float | None:
    """A key as the encoder can write it: a text, or a number, a bool or None, which the encoder makes a text."""
    if key is None or issubclass(type(key), str | int | float):
        text = as_text(key)
        if text is not None or key is None or type(key) is bool:
            return text if text is not None else key  # type: ignore[return-value]
        return _number_key(key)
    form = NO_FORM if as_list(key) is not None or as_set(key) is not None else json_form(key)
    text = as_text(form)
    if text is not None or issubclass(type(form), int | float):
        return text if text is not None else _number_key(form)
    raise _PartError(
        lambda where: f"{where} has {type_name(key)} as a key, but keys are text in JSON; write str(key)"
    )


def _number_key(key: object) -> int | float:
    try:
        number = _number(key)
    except _PartError as error:
        said = error.said
        raise _PartError(lambda where: said(f"a key of {where}")) from None
    if number is None:
        raise _PartError(lambda where: f"a key of {where} is nan, which JSON has no form for; write str(key)")
    return number


def _cure(value: object) -> str:
    by_class = (_CURES.get(class_name(kind)) for kind in bases(type(value)))
    by_method = (cure for name, cure in _METHOD_CURES if has_method(value, name))
    return next((cure for cure in (*by_class, *by_method) if cure), RETURN_PLAIN)


def _shown(key: object) -> str:
    text = as_text(key)
    if text is None:
        return str(key) if type(key) in {int, float, bool, type(None)} else "…"
    return repr(shortened(text, 64, "…"))
