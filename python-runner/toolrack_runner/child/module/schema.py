"""The JSON Schema of a tool's parameters: its size, whether it compiles, and whether it agrees with the handler."""

import json
from collections.abc import Iterator
from typing import Any

from toolrack_runner.child.module.handler import CONTEXT, Handler
from toolrack_runner.limits import SCHEMA_BYTES_MAX
from toolrack_runner.near_miss import did_you_mean, named
from toolrack_runner.wire.fault import SpecError
from toolrack_runner.wire.frames import JsonObject

#: How many characters of a place in the schema a fault shows. The rest is cut.
_PLACE_CHARS_MAX = 200
#: If the root has one of these keywords, a property may be declared elsewhere. Then it proves nothing that a property is
#: missing.
_ELSEWHERE = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties")

#: Usual names for a parameter that gets all arguments as one dict, as other products call handlers.
_ONE_DICT = {"args", "arguments", "data", "input", "inputs", "kwargs", "params", "parameters", "payload"}


def check_size(parameters: JsonObject) -> None:
    """Raises SpecError if the schema has too many bytes as JSON."""
    size = len(json.dumps(parameters, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
    if size > SCHEMA_BYTES_MAX:
        rule = f"at most {SCHEMA_BYTES_MAX:,} are allowed"
        raise SpecError("parameters_too_large", f"its parameters are {size:,} bytes; {rule}. Simplify them.")


def schema_fault(parameters: JsonObject) -> str | None:
    """The error of the schema as a sentence without full stop. None if it compiles. References are not fetched."""
    try:
        _validator(parameters)
    except BaseException as error:  # noqa: BLE001 - a panic of the compiled library is no Exception
        return f"its parameters are no JSON Schema: {_said(error)}"
    return None


def arguments_mismatch(parameters: JsonObject, arguments: JsonObject) -> str | None:
    """The first error of the arguments; None if the schema allows them."""
    try:
        error = next(iter(_validator(parameters).iter_errors(arguments)), None)
    except BaseException as failed:  # noqa: BLE001 - for the same reason as in `schema_fault`
        return _said(failed)
    return None if error is None else _said(error)


def contradictions(parameters: JsonObject, handler: Handler) -> Iterator[str]:
    """A sentence for each contradiction between the schema and the handler's signature."""
    stated = parameters.get("properties", {})
    listed = parameters.get("required", [])
    if not isinstance(stated, dict) or not isinstance(listed, list):
        return
    title = handler.title
    if handler.names and stated and _takes_one_dict(handler, stated):
        whole = handler.names[0]
        cure = f"Write **{whole} at the end of its signature, or name its arguments: {named(stated)}"
        yield f"{title} takes all arguments in '{whole}', but each comes by its name. {cure}."
        return
    takes = f"{title} takes {named(handler.names) or 'no arguments'}"
    required = [name for name in listed if isinstance(name, str)]
    is_whole = not any(keyword in parameters for keyword in _ELSEWHERE)
    for name in [*stated, *(name for name in required if name not in stated)]:
        if name == CONTEXT and handler.takes_context:
            yield f"its parameters have '{CONTEXT}', which {title} gets from the runner. Rename one of the two."
        elif name not in handler.names and not handler.takes_any:
            yield f"its parameters have '{name[:64]}', but {takes}{did_you_mean(name, handler.names)}"
        elif name not in stated and is_whole:
            yield f"its required lists '{name[:64]}', but its properties do not{did_you_mean(name, stated)}"
    for name in handler.required if is_whole else ():
        if name not in stated:
            yield f"{title} needs '{name}', but its parameters do not have it{did_you_mean(name, stated)}"
        elif name not in required:
            yield f"{title} needs '{name}', which has no default, but its required lacks it. List it, or give it a default."


def _takes_one_dict(handler: Handler, stated: JsonObject) -> bool:
    name = handler.names[0]
    return len(handler.names) == 1 and not handler.takes_any and name in _ONE_DICT and name not in stated


def _validator(parameters: JsonObject) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(parameters, offline=True)


def _said(error: BaseException) -> str:
    message = str(getattr(error, "message", error)).partition("\n")[0][:300]
    path = "/".join(str(step) for step in getattr(error, "instance_path", ()))[:_PLACE_CHARS_MAX]
    return f"{message} (at {path})" if path else message
