"""The value that a handler returned, as the text that the model reads."""

from dataclasses import dataclass
from json import JSONDecoder, JSONEncoder

from toolrack_runner.module.facts import as_text, type_name
from toolrack_runner.module.limits import RESULT_DEPTH_MAX
from toolrack_runner.module.plain import JsonValue, is_deeper
from toolrack_runner.module.result_fault import NO_FORM, result_fault


class ResultError(Exception):
    """JSON has no form for a result. The text names the place and the cure, without a full stop."""


@dataclass(frozen=True, slots=True)
class Result:
    """The text of a result, and its JSON value if it was not a string."""

    text: str
    value: JsonValue = None
    is_json: bool = False


def _refuse(value: object) -> None:
    """Replaces the default of the encoder, which asks the value for the name of its class."""
    raise TypeError(f"{type_name(value)} has no form in JSON")


_decode = JSONDecoder().decode
_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse).encode


def result_of(returned: object) -> Result:
    """A string is the text as it is, anything else becomes JSON. May run code of the module. Raises ResultError."""
    said = as_text(returned)
    if said is not None:
        _refuse_surrogates(said)
        return Result(said)
    text = _encoded(returned)
    _refuse_surrogates(text)
    try:
        value: JsonValue = _decode(text)
    except RecursionError:
        raise ResultError(_too_deep()) from None
    if text.count("[") + text.count("{") > RESULT_DEPTH_MAX and is_deeper(value, RESULT_DEPTH_MAX):
        raise ResultError(_too_deep())
    return Result(text, value, is_json=True)


def _encoded(value: object) -> str:
    try:
        return _encode(value)
    except RecursionError:
        raise ResultError(_too_deep()) from None
    except (TypeError, ValueError) as error:
        said = result_fault(value) or f"the result can't be written as JSON ({str(error)[:200]}); {NO_FORM}"
        raise ResultError(said) from None


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ResultError(
            f"the result holds a lone surrogate (character {error.start + 1:,}), which is no text; "
            "decode the bytes it came from with errors='replace'"
        ) from None


def _too_deep() -> str:
    return f"the result is nested deeper than {RESULT_DEPTH_MAX} levels, or holds itself; flatten it"
