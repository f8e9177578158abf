"""Reads one spec. Either it becomes a tool, or it is refused with all of its faults."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from types import FunctionType
from typing import Any, TypeVar

from toolrack_runner.child.module import spec_fields
from toolrack_runner.child.module.facts import as_items, as_text, class_name, type_name
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.handler import DescribedHandler, read_handler
from toolrack_runner.child.module.plain import NotPlainError, plain_object
from toolrack_runner.child.module.schema import check_size, contradictions
from toolrack_runner.child.module.trusted_names import Names
from toolrack_runner.limits import DESCRIPTION_CHARS_MAX, SCHEMA_DEPTH_MAX, TOOL_NAME_CHARS_MAX
from toolrack_runner.near_miss import did_you_mean
from toolrack_runner.tool_name import TOOL_NAME_RULE, is_tool_name
from toolrack_runner.wire.fault import Fault, FaultKind, NoteJson, SpecError, fault, note
from toolrack_runner.wire.frames import JsonObject

T = TypeVar("T")

#: The most faults of one kind in a report. More would not help the author, and would make the report of a large spec too
#: large.
_SHOWN_MAX = 10

KEYS = (
    "name",
    "description",
    "parameters",
    "handler",
    "examples",
    "annotations",
    "timeoutSeconds",
    "limits",
    "secrets",
    "network",
    "reuse",
    "onFailure",
)


@dataclass(frozen=True, slots=True)
class Tool:
    """An accepted spec. If `description` or `parameters` is None, it must be derived from the handler."""

    index: int
    name: str
    #: The file in which the spec is, and its line if it is known.
    file: str
    line: int | None
    handler: DescribedHandler
    description: str | None = None
    parameters: JsonObject | None = None
    annotations: JsonObject | None = None
    timeout_seconds: float | None = None
    limits: JsonObject | None = None
    secrets: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    #: How many calls one process may serve; None if the spec does not say it.
    reuse: int | None = None
    #: What the service does after a failure. The service checks it.
    on_failure: JsonObject | None = None
    examples: tuple[spec_fields.Example, ...] = ()
    notes: tuple[NoteJson, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedSpec:
    """A refused spec with all of its faults. `name` is None if the name in the spec is not a string."""

    index: int
    name: str | None
    #: The file in which the spec is, and its line if it is known.
    file: str
    line: int | None
    faults: tuple[Fault, ...]


def read_spec(
    files: ModuleFiles, index: int, element: object, place: tuple[str, int | None], trusted: Names
) -> Tool | RefusedSpec:
    """Reads one element of TOOL_SPECS. Never raises. Code of the module runs only to read the handler's signature."""
    file, line = place
    items = as_items(element)
    if items is None:
        sentence = f"TOOL_SPECS[{index}] is {type_name(element)}. Write a dict with {', '.join(KEYS[:4])}."
        return RefusedSpec(index, None, file, line, (fault("spec_not_a_dict", file, line, sentence),))
    fields = {name: value for key, value in items if (name := as_text(key)) is not None}
    given_name = as_text(fields.get("name"))
    name = None if given_name is None else given_name[:TOOL_NAME_CHARS_MAX]
    title = f"'{name}'" if name else f"TOOL_SPECS[{index}]"
    faults: list[Fault] = []

    def refuse(kind: FaultKind, sentence: str) -> None:
        faults.append(fault(kind, file, line, f"{title}: {sentence}"))

    def attempt(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except SpecError as error:
            refuse(error.kind, str(error))
            return None

    def field(key: str, read: Callable[[object], T]) -> T | None:
        value = fields.get(key)
        return None if value is None else attempt(lambda: read(value))

    attempt(lambda: _check_name(files.name, fields))
    handler = attempt(lambda: _handler(files, fields, trusted))
    description = attempt(lambda: _description(fields.get("description"), handler))
    parameters = field("parameters", _parameters)
    if parameters is not None and handler:
        for sentence in islice(contradictions(parameters, handler), _SHOWN_MAX):
            refuse("parameters_contradict", sentence)
    annotations = field("annotations", spec_fields.read_annotations)
    timeout = field("timeoutSeconds", spec_fields.read_timeout)
    limits = field("limits", spec_fields.read_limits)
    secrets = field("secrets", spec_fields.read_secrets) or ()
    network = field("network", spec_fields.read_network) or ()
    reuse = field("reuse", spec_fields.read_reuse)
    on_failure = field("onFailure", spec_fields.read_on_failure)
    examples = field("examples", spec_fields.read_examples) or ()
    if faults or handler is None or name is None:
        return RefusedSpec(index, name, file, line, tuple(faults))
    unknown = [key for key in fields if key not in KEYS][:_SHOWN_MAX]
    sentences = [f"the key '{key[:64]}' means nothing here{did_you_mean(key, KEYS)}" for key in unknown]
    return Tool(
        index=index,
        name=name,
        file=file if line else handler.file or file,
        line=line or handler.line,
        handler=handler,
        description=description,
        parameters=parameters,
        annotations=annotations,
        timeout_seconds=timeout,
        limits=limits,
        secrets=secrets,
        network=network,
        reuse=reuse,
        on_failure=on_failure,
        examples=examples,
        notes=tuple(note("key_unknown", file, line, f"{title}: {sentence}") for sentence in sentences),
    )


def _check_name(module: str, fields: dict[str, Any]) -> None:
    prefix = f"{module}:"
    name = as_text(fields.get("name"))
    if name is None:
        given = f"its name is {type_name(fields['name'])}" if "name" in fields else "it has no name"
        raise SpecError("name_invalid", f"{given}. Write 'name': '{prefix}<function>'.")
    if not is_tool_name(name):
        raise SpecError("name_invalid", f"this name is not allowed: {TOOL_NAME_RULE}.")
    if not name.startswith(prefix) or name == prefix:
        own = name.rpartition(":")[2] or "<function>"
        raise SpecError("name_prefix", f"a tool is named after its file. Write '{prefix}{own}'.")


def _handler(files: ModuleFiles, fields: dict[str, Any], trusted: Names) -> DescribedHandler:
    if "handler" not in fields:
        raise SpecError("handler_missing", "it has no handler. Write 'handler': the function to call.")
    value = fields["handler"]
    try:
        if type(value) is FunctionType and not value.__dict__:
            return read_handler(value, files.texts)
        # If a callable is decorated or is an object, reading its signature may run code of the module.
        return trusted.keep(lambda: read_handler(value, files.texts))
    except SpecError:
        raise
    except BaseException as error:  # noqa: BLE001 - a signature may be code of the module
        raised = class_name(type(error))
        sentence = f"reading the handler's signature raised {raised}. Give a plain function."
        raise SpecError("handler_unreadable", sentence) from None


def _description(value: object, handler: DescribedHandler | None) -> str | None:
    text = as_text(value)
    if value is not None and text is None:
        raise SpecError("description_invalid", f"its description is {type_name(value)}. Write a string.")
    if text is not None and len(text) > DESCRIPTION_CHARS_MAX:
        size = f"{len(text):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed"
        raise SpecError("description_invalid", f"its description has {size}. Shorten it.")
    if text and text.strip():
        return text
    if handler and not (handler.doc or "").strip():
        if handler.hidden_by:
            raise SpecError("description_invalid", f"there is no docstring: {handler.hidden_by}.")
        sentence = "it has no description, and its handler has no docstring. Say what the tool does."
        raise SpecError("description_invalid", sentence)
    return None


def _parameters(value: object) -> JsonObject:
    try:
        parameters = plain_object(value, "parameters", depth_max=SCHEMA_DEPTH_MAX)
    except NotPlainError as error:
        sentence = f"{error}. Write a JSON Schema as plain data, or leave it out."
        raise SpecError("parameters_invalid", sentence) from None
    check_size(parameters)
    if parameters.get("type", "object") != "object":
        sentence = (
            "its parameters are not of type object, but a tool takes named arguments. Write 'type': 'object'."
        )
        raise SpecError("parameters_invalid", sentence)
    return parameters
