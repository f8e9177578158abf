"""Makes the text that the model reads from the value that a handler returned. Raises if JSON has no form for the value."""

from collections.abc import Iterable
from json import JSONDecoder, JSONEncoder
from math import isfinite

from toolrack_runner.limits import RESULT_DEPTH_MAX
from toolrack_runner.module.facts import as_items, as_list, as_text, bases, class_name, has_method, type_name
from toolrack_runner.module.plain import is_deeper
from toolrack_runner.wire.frames import JsonObject, JsonValue

_NO_FORM = "return text, or dicts, lists, strings, numbers, True, False and None"

_TOO_DEEP = f"the result is nested deeper than {RESULT_DEPTH_MAX} levels, or holds itself; flatten it"
_LIST = "return list(value)"
_ITERABLES = ("generator", "dict_keys", "dict_values", "dict_items", "map", "filter", "zip", "range")
_CURES = {
    **dict.fromkeys(_ITERABLES, _LIST),
    **dict.fromkeys(("datetime", "date", "time"), "return value.isoformat()"),
    **dict.fromkeys(("set", "frozenset"), "return sorted(value)"),
    **dict.fromkeys(("bytes", "bytearray"), "return value.decode(), or base64 text"),
    **dict.fromkeys(("function", "method", "builtin_function_or_method"), "call it"),
    "timedelta": "return value.total_seconds()",
    "Decimal": "return str(value), or float(value)",
    "UUID": "return str(value)",
    "coroutine": "await it in an async def",
    "ndarray": "return value.tolist()",
    "DataFrame": "return value.to_dict('records')",
}
_METHOD_CURES = (
    ("model_dump", "return value.model_dump(mode='json')"),
    ("__dataclass_fields__", "return dataclasses.asdict(value)"),
    ("__fspath__", "return str(value)"),
    ("item", "return value.item()"),
    ("__next__", _LIST),
)
#: The size of the largest whole number that Python converts to text, which has 4,300 digits.
_BITS_MAX = 14_284


class ResultError(Exception):
    """JSON has no form for a result. The text names the place and the cure, without a full stop."""


def _refuse(value: object) -> None:
    """Replaces the encoder's own `default`, which reads the name of the class from the value and so can run its code."""
    raise TypeError(f"{type_name(value)} has no form in JSON")


_decode = JSONDecoder().decode
_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse).encode


def result_of(returned: object) -> JsonObject:
    """The `text` of a result, and its `value` if it is not a string. May run code of the module. Raises ResultError."""
    said = as_text(returned)
    if said is not None:
        _refuse_surrogates(said)
        return {"text": said}
    try:
        text = _encode(returned)
        _refuse_surrogates(text)
        value: JsonValue = _decode(text)
    except RecursionError:
        raise ResultError(_TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        said = _fault(returned) or f"the result can't be written as JSON ({str(error)[:200]}); {_NO_FORM}"
        raise ResultError(said) from None
    if text.count("[") + text.count("{") > RESULT_DEPTH_MAX and is_deeper(value, RESULT_DEPTH_MAX):
        raise ResultError(_TOO_DEEP)
    return {"value": value, "text": text}


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ResultError(
            f"the result holds a lone surrogate (character {error.start + 1:,}), which is no text; "
            "decode the bytes it came from with errors='replace'"
        ) from None


def _fault(root: object) -> str | None:
    """A sentence about the first value without a form in JSON; None if none is found."""
    try:
        return _fault_in(root, "the result", set())
    except RecursionError:
        return None


def _fault_in(value: object, where: str, around: set[int]) -> str | None:
    """`around` has the ids of the containers around the value."""
    items, elements = as_items(value), as_list(value)
    if items is None and elements is None:
        return _scalar_fault(value, where)
    if id(value) in around:
        return f"{where} holds itself, so its JSON would never end; return a copy without the cycle"
    around.add(id(value))
    children: Iterable[tuple[object, object]] = items if items is not None else enumerate(elements or [])
    for key, child in children:
        found = _key_fault(key, where) or _fault_in(child, f"{where}[{_shown(key)}]", around)
        if found:
            return found
    around.discard(id(value))
    return None


def _scalar_fault(value: object, where: str) -> str | None:
    if value is None or issubclass(type(value), str):
        return None
    if issubclass(type(value), int):
        if int.bit_length(value) <= _BITS_MAX:  # type: ignore[arg-type]
            return None
        return f"{where} is a number of more than 4,300 digits; return hex(value), or round it"
    if issubclass(type(value), float):
        number: float = float.__pos__(value)  # type: ignore[arg-type]
        if isfinite(number):
            return None
        return f"{where} is {number}, which JSON has no form for; return None, or text in its place"
    return f"{where} is {type_name(value)}, which JSON has no form for; {_cure(value)}"


def _key_fault(key: object, where: str) -> str | None:
    if key is None or issubclass(type(key), str | int):
        return None
    if issubclass(type(key), float):
        return _scalar_fault(key, f"a key of {where}")
    return f"{where} has {type_name(key)} as a key, but keys are text in JSON; write str(key)"


def _cure(value: object) -> str:
    by_class = (_CURES.get(class_name(kind)) for kind in bases(type(value)))
    by_method = (cure for name, cure in _METHOD_CURES if has_method(value, name))
    return next((cure for cure in (*by_class, *by_method) if cure), _NO_FORM)


def _shown(key: object) -> str:
    text = as_text(key)
    if text is None:
        return str(key) if type(key) in {int, float, bool, type(None)} else "…"
    return repr(text if len(text) <= 64 else text[:64] + "…")
