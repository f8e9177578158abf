"""What a validator says of a schema, and of arguments under it. Fetches nothing: references stay local."""

from typing import Any

from toolrack_runner.module.plain import JsonObject

_PLACE_MAX = 200


def schema_fault(parameters: JsonObject) -> str | None:
    """Why the schema is no JSON Schema, as a sentence without its end; None when it compiles."""
    try:
        _validator(parameters)
    except BaseException as error:  # noqa: BLE001 - a panic of the compiled library is no Exception
        return f"its parameters are no JSON Schema: {_said(error)}"
    return None


def arguments_mismatch(parameters: JsonObject, arguments: JsonObject) -> str | None:
    """The first thing in which arguments break the schema; None when they keep it."""
    try:
        error = next(iter(_validator(parameters).iter_errors(arguments)), None)
    except BaseException as failed:  # noqa: BLE001 - the same
        return _said(failed)
    return None if error is None else _said(error)


def _validator(parameters: JsonObject) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(parameters, offline=True)


def _said(error: BaseException) -> str:
    message = str(getattr(error, "message", error)).partition("\n")[0][:300]
    path = "/".join(str(step) for step in getattr(error, "instance_path", ()))[:_PLACE_MAX]
    return f"{message} (at {path})" if path else message
