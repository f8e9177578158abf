"""Completes an accepted spec: a missing description or missing parameters are derived from the handler."""

import inspect
import typing
import warnings
from functools import partial
from typing import Any

from toolrack_runner.limits import DESCRIPTION_CHARS_MAX, SCHEMA_DEPTH_MAX
from toolrack_runner.module.facts import class_name
from toolrack_runner.module.fault import FaultJson, SpecError, fault
from toolrack_runner.module.handler import BY_NAME, CONTEXT, DescribedHandler
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.plain import NotPlainError, plain_object
from toolrack_runner.module.report import SpecReport
from toolrack_runner.module.schema import check_size, schema_fault
from toolrack_runner.module.spec import Tool
from toolrack_runner.wire.frames import JsonObject

_error = partial(SpecError, "parameters_underivable")


def checked_tool(module: LoadedModule, tool: Tool) -> SpecReport:
    """The report on a spec, before its examples run. Never raises.

    The spec is accepted unless its description or parameters cannot be derived, or its schema does not compile.
    """
    faults: list[FaultJson] = []
    try:
        description, parameters, derived = _completed(module, tool)
    except SpecError as error:
        description, parameters, derived = tool.description or "", tool.parameters or {}, []
        faults = [fault(error.kind, tool.file, tool.line, f"'{tool.name}': {error}").as_json()]
    return {
        "name": tool.name,
        "line": tool.line,
        "accepted": not faults,
        "description": description,
        "parameters": parameters,
        "derived": derived,
        "annotations": tool.annotations,
        "timeoutSeconds": tool.timeout_seconds,
        "secrets": list(tool.secrets),
        "network": list(tool.network),
        "faults": faults,
        "notes": list(tool.notes),
        "examples": [],
    }


def _completed(module: LoadedModule, tool: Tool) -> tuple[str, JsonObject, list[str]]:
    """The description, the parameters, and which of the two fields were derived. Raises SpecError."""
    description = _derived_description(tool) if tool.description is None else tool.description
    parameters = _derived_parameters(module, tool) if tool.parameters is None else tool.parameters
    derived = [key for key in ("description", "parameters") if getattr(tool, key) is None]
    broken = schema_fault(parameters)
    if broken:
        raise SpecError("parameters_invalid", f"{broken}.")
    return description, parameters, derived


def _derived_description(tool: Tool) -> str:
    docstring = (tool.handler.doc or "").strip()
    description = _read_docstring(docstring)[0] or docstring
    if len(description) > DESCRIPTION_CHARS_MAX:
        sentence = f"its docstring has {len(description):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed. Shorten it."
        raise SpecError("description_invalid", sentence)
    return description


def _derived_parameters(module: LoadedModule, tool: Tool) -> JsonObject:
    try:
        parameters = module.trusted.keep(lambda: _signature_schema(tool.handler))
    except SpecError:
        raise
    except BaseException as error:  # noqa: BLE001 - an annotation may raise anything
        kind = class_name(type(error))
        raise _error(f"reading the types of {tool.handler.title} raised {kind}. Write parameters.") from None
    check_size(parameters)
    return parameters


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The prose of a docstring, and the descriptions of arguments by name.

    Reads the styles of Google, NumPy, reST and epydoc. A docstring in another style is only prose.
    """
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text.strip(), {}
    parts = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    arguments = {each.arg_name: each.description.strip() for each in parsed.params if each.description}
    return "\n\n".join(parts), arguments


def _signature_schema(handler: DescribedHandler) -> JsonObject:
    """The JSON Schema of a handler's arguments. May run code of the module. Raises SpecError."""
    if handler.takes_any and not handler.names:
        raise _error(
            f"{handler.title} takes **kwargs and names no argument. Write parameters; a decorator needs functools.wraps."
        )
    try:
        hints = typing.get_type_hints(handler.function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - an annotation may raise anything
        said = str(error)[:120]
        raise _error(
            f"an annotation of {handler.title} can't be resolved ({said}). Correct it, or write parameters."
        ) from None
    named = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in handler.signature.parameters.values()
        if parameter.kind in BY_NAME and parameter.name != CONTEXT
    ]
    schema = _schema(handler, named, hints)
    if handler.takes_any:
        schema.pop("additionalProperties", None)
    properties = schema.get("properties")
    if handler.doc and isinstance(properties, dict):
        for name, description in _read_docstring(handler.doc)[1].items():
            stated = properties.get(name)
            if isinstance(stated, dict):
                stated.setdefault("description", description)
    return schema


def _schema(handler: DescribedHandler, named: list[inspect.Parameter], hints: dict[str, Any]) -> JsonObject:
    try:
        return plain_object(_pydantic_schema(named, hints), "parameters", depth_max=SCHEMA_DEPTH_MAX)
    except NotPlainError as error:
        raise _error(f"of the schema of {handler.title}, {error}. Write parameters.") from None
    except Exception as error:  # noqa: BLE001 - a type may bring its own schema
        said = str(error).partition("\n")[0][:120]
    for parameter in named:
        try:
            _pydantic_schema([parameter], hints)
        except Exception:  # noqa: BLE001 - as above
            raise _error(
                f"the annotation of '{parameter.name}' in {handler.title} has no JSON Schema. "
                "Use types that JSON can carry (str, int, float, bool, list, dict, Literal), or write parameters."
            ) from None
    raise _error(f"the signature of {handler.title} has no JSON Schema ({said}). Write parameters.")


def _pydantic_schema(named: list[inspect.Parameter], hints: dict[str, Any]) -> JsonObject:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """Omits titles. They only repeat the names, and each token of a definition has a price in each call of a model."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the name is pydantic's
            return False

    def stub(**_: Any) -> None:
        """Replaces the handler, because Pydantic reads only the signature and the annotations of a function."""

    signature: Any = inspect.Signature(named)
    stub.__signature__ = signature  # type: ignore[attr-defined]
    stub.__annotations__ = {each.name: hints[each.name] for each in named if each.name in hints}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter: TypeAdapter[Any] = TypeAdapter(typing.cast("Any", stub))
        schema: JsonObject = adapter.json_schema(schema_generator=Untitled)
    definitions = schema.get("$defs")
    for name, definition in definitions.items() if isinstance(definitions, dict) else ():
        if isinstance(definition, dict) and definition.get("title") == name:
            del definition["title"]
    return schema
