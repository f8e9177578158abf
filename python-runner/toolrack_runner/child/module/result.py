"""Makes a text for the model from the value that a handler has returned. Raises if the value cannot be JSON."""

from json import JSONDecoder, JSONEncoder

from toolrack_runner.child.module.content import CONTENT
from toolrack_runner.child.module.facts import as_text, is_a, own_text, type_name
from toolrack_runner.child.module.formed import RETURN_PLAIN, TOO_DEEP, formed
from toolrack_runner.child.module.json_form import NO_FORM, as_set, json_form
from toolrack_runner.child.module.result_errors import ResultError
from toolrack_runner.child.module.secrets_of_call import shortened
from toolrack_runner.limits import RESULT_DEPTH_MAX
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.wire.json_depth import is_deeper


def _form(value: object) -> object:
    """Used instead of the encoder's own `default`, which may run code of the module when it reads the class name."""
    form = formed(value) if as_set(value) is not None else json_form(value)
    if form is NO_FORM:
        raise TypeError(f"{type_name(value)} has no form in JSON")
    return form


#: The beginning of the encoder's error text about NaN. A NaN of numpy gives no error, because `formed` replaces it.
_NOT_FINITE = "Out of range float values"
_decode = JSONDecoder().decode
_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_form).encode


def result_of(returned: object) -> JsonObject:
    """The `text` of a result, and also its `value` if it is not a text. May run code of the module.

    Its images and files are added to `CONTENT`. Raises ResultError and ContentTooLargeError.

    The encoder is fast. But it does not say where a fault is, and accepts no enum or date as a key. `formed` does both.
    """
    said = as_text(returned)
    if said is not None:
        _refuse_surrogates(said)
        return {"text": said}
    try:
        text = _encode(returned)
    except RecursionError:
        raise ResultError(TOO_DEEP) from None
    except (TypeError, ValueError, ResultError) as error:
        plain = formed(returned)
        if not is_a(error, TypeError) and not own_text(error, ValueError).startswith(_NOT_FINITE):
            # Only code of the module can have raised this error.
            said = f"the result can't be written as JSON ({shortened(str(error), 200)}); {RETURN_PLAIN}"
            raise ResultError(said) from None
        text = _encode(plain)
    _refuse_surrogates(text)
    value: JsonValue = _decode(text)
    if type(value) is str:
        return {"text": value}
    if text.count("[") + text.count("{") > RESULT_DEPTH_MAX and is_deeper(value, RESULT_DEPTH_MAX):
        raise ResultError(TOO_DEEP)
    before = len(CONTENT.parts)
    value = CONTENT.without_blocks(value, text)
    if len(CONTENT.parts) > before:
        text = _encode(value)
    return {"value": value, "text": text}


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ResultError(
            f"the result holds a lone surrogate (character {error.start + 1:,}), which is no text; "
            "decode the bytes it came from with errors='replace'"
        ) from None
