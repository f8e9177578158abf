"""Derives the JSON Schema of a handler's arguments from its signature and its docstring."""

import inspect
import sys
import typing
import warnings
from functools import partial
from typing import Any

from toolrack_runner.child.module.annotations import REST, annotated
from toolrack_runner.child.module.convert import CONFIGURATION
from toolrack_runner.child.module.handler import BY_NAME, CONTEXT, DescribedHandler
from toolrack_runner.child.module.plain import NotPlainError, plain_object
from toolrack_runner.child.module.schema import contradictions
from toolrack_runner.limits import SCHEMA_DEPTH_MAX
from toolrack_runner.wire.fault import SpecError
from toolrack_runner.wire.frames import JsonObject

#: Stands for `**kwargs` while the schema is made. It is unlikely that an argument has this name.
_REST_NAME = "kwargs__"
_CONFIG: Any = CONFIGURATION
_error = partial(SpecError, "parameters_underivable")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
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


def signature_schema(handler: DescribedHandler) -> JsonObject:
    """The JSON Schema of a handler's arguments. May run code of the module. Raises SpecError."""
    if handler.takes_any and not handler.names:
        if handler.hidden_by:
            raise _error(f"{handler.hidden_by}. Or write parameters.")
        raise _error(
            f"{handler.title} takes **kwargs and names no argument. Write parameters; a decorator needs functools.wraps."
        )
    try:
        hints = annotated(handler)
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
    if REST in hints:
        rest = hints[REST]
        named.append(inspect.Parameter(_REST_NAME, inspect.Parameter.KEYWORD_ONLY, annotation=rest))
    schema = _schema(handler, named, {**hints, _REST_NAME: hints.get(REST)})
    if handler.takes_any:
        _describe_rest(schema)
    for sentence in contradictions(schema, handler):
        raise _error(f"{sentence} A Field of an argument has neither an alias nor a default.")
    properties = schema.get("properties")
    if handler.doc and isinstance(properties, dict):
        for name, description in read_docstring(handler.doc)[1].items():
            stated = properties.get(name)
            if isinstance(stated, dict):
                stated.setdefault("description", description)
    return schema


def _describe_rest(schema: Any) -> None:
    """Adds to the schema which other arguments are allowed: all, or only those that fit the annotation of `**kwargs`."""
    rest = schema["properties"].pop(_REST_NAME, None)
    if rest is None:
        schema.pop("additionalProperties", None)
        return
    schema["additionalProperties"] = rest
    schema["required"].remove(_REST_NAME)
    if not schema["required"]:
        del schema["required"]


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
        except Exception as error:  # noqa: BLE001 - a type may bring its own schema
            if getattr(error, "code", None) == "typed-dict-version":
                raise _error(_typed_dict(parameter.name, handler.title)) from None
            raise _error(
                f"the annotation of '{parameter.name}' in {handler.title} has no JSON Schema. "
                "Use types that JSON can carry (str, int, float, bool, list, dict, Literal), or write parameters."
            ) from None
    raise _error(f"the signature of {handler.title} has no JSON Schema ({said}). Write parameters.")


def _typed_dict(name: str, title: str) -> str:
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"the annotation of '{name}' in {title} uses typing.TypedDict, which in {version} does not tell which keys "
        "are needed. Write 'from typing_extensions import TypedDict'."
    )


def _pydantic_schema(named: list[inspect.Parameter], hints: dict[str, Any]) -> JsonObject:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """Leaves out titles.

        They only repeat the names, and every token of a definition costs something in every call of a model.
        """

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the name is pydantic's
            return False

        def bytes_schema(self, schema: Any) -> dict[str, Any]:
            if self._config.val_json_bytes == "base64":
                return {"type": "string", "contentEncoding": "base64"}
            return super().bytes_schema(schema)

    def stub(**_: Any) -> None:
        """Stands for the handler, because pydantic reads only the signature and the annotations of a function."""

    signature: Any = inspect.Signature(named)
    stub.__signature__ = signature  # type: ignore[attr-defined]
    stub.__annotations__ = {each.name: hints[each.name] for each in named if each.name in hints}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter: TypeAdapter[Any] = TypeAdapter(typing.cast("Any", stub), config=_CONFIG)
        schema: JsonObject = adapter.json_schema(schema_generator=Untitled)
    definitions = schema.get("$defs")
    for name, definition in definitions.items() if isinstance(definitions, dict) else ():
        if isinstance(definition, dict) and definition.get("title") == name:
            del definition["title"]
    return schema
