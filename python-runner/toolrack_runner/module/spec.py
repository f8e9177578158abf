"""Reading one spec: a tool, or every reason why it is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from types import FunctionType
from typing import Any, TypeVar

from toolrack_runner.limits import DESCRIPTION_CHARS_MAX, SCHEMA_DEPTH_MAX, TOOL_NAME_CHARS_MAX
from toolrack_runner.module.facts import as_items, as_text, class_name, type_name
from toolrack_runner.module.fault import Fault, FaultKind, Note, SpecError, fault, note
from toolrack_runner.module.handler import DescribedHandler, read_handler
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.plain import NotPlainError, plain_object
from toolrack_runner.module.schema import check_size, contradictions
from toolrack_runner.module.spec_fields import (
    Example,
    read_annotations,
    read_examples,
    read_network,
    read_secrets,
    read_timeout,
)
from toolrack_runner.module.trusted_names import Names
from toolrack_runner.tool_name import TOOL_NAME_RULE, is_tool_name
from toolrack_runner.wire.frames import JsonObject

T = TypeVar("T")

#: The first faults of one kind help the author. The bound keeps a report small, however large the spec is.
_TOLD_MAX = 10

KEYS = (
    "name",
    "description",
    "parameters",
    "handler",
    "examples",
    "annotations",
    "timeoutSeconds",
    "secrets",
    "network",
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A spec that was accepted. `description` and `parameters` are None if they are to be derived from the handler."""

    index: int
    name: str
    line: int | None
    handler: DescribedHandler
    description: str | None = None
    parameters: JsonObject | None = None
    annotations: JsonObject | None = None
    timeout_seconds: float | None = None
    secrets: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedSpec:
    """A spec that was refused, with every reason. `name` is None if it has no readable name."""

    index: int
    name: str | None
    line: int | None
    faults: tuple[Fault, ...]


def read_spec(
    module: str, index: int, element: object, line: int | None, trusted: Names
) -> Tool | RefusedSpec:
    """One element of TOOL_SPECS. Never raises, and runs code of the module only to read the handler's signature."""
    items = as_items(element)
    if items is None:
        sentence = f"TOOL_SPECS[{index}] is {type_name(element)}. Write a dict with {', '.join(KEYS[:4])}."
        return RefusedSpec(index, None, line, (fault("spec_not_a_dict", module, line, sentence),))
    fields = {name: value for key, value in items if (name := as_text(key)) is not None}
    return _SpecReader(module, index, fields, line, trusted).read()


class _SpecReader:
    def __init__(
        self, module: str, index: int, fields: dict[str, Any], line: int | None, trusted: Names
    ) -> None:
        self._module = module
        self._index = index
        self._fields = fields
        self._line = line
        self._trusted = trusted
        self._faults: list[Fault] = []
        self._name = as_text(fields.get("name"))
        self._title = f"'{self._name[:TOOL_NAME_CHARS_MAX]}'" if self._name else f"TOOL_SPECS[{index}]"

    def read(self) -> Tool | RefusedSpec:
        self._try(self._check_name)
        handler = self._try(self._handler)
        description = self._try(lambda: self._description(handler))
        parameters = self._try(lambda: self._parameters(handler))
        annotations = self._field("annotations", read_annotations)
        timeout = self._field("timeoutSeconds", read_timeout)
        secrets = self._field("secrets", read_secrets) or ()
        network = self._field("network", read_network) or ()
        examples = self._field("examples", read_examples) or ()
        if self._faults or handler is None or self._name is None:
            name = None if self._name is None else self._name[:TOOL_NAME_CHARS_MAX]
            return RefusedSpec(self._index, name, self._line, tuple(self._faults))
        return Tool(
            index=self._index,
            name=self._name,
            line=self._line or handler.line,
            handler=handler,
            description=description,
            parameters=parameters,
            annotations=annotations,
            timeout_seconds=timeout,
            secrets=secrets,
            network=network,
            examples=examples,
            notes=self._notes(),
        )

    def _refuse(self, kind: FaultKind, sentence: str) -> None:
        self._faults.append(fault(kind, self._module, self._line, f"{self._title}: {sentence}"))

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except SpecError as error:
            self._refuse(error.kind, str(error))
            return None

    def _field(self, key: str, read: Callable[[object], T]) -> T | None:
        value = self._fields.get(key)
        return None if value is None else self._try(lambda: read(value))

    def _check_name(self) -> None:
        prefix = f"{self._module}:"
        name = self._name
        if name is None:
            given = (
                f"its name is {type_name(self._fields['name'])}"
                if "name" in self._fields
                else "it has no name"
            )
            raise SpecError("name_invalid", f"{given}. Write 'name': '{prefix}<function>'.")
        if not is_tool_name(name):
            raise SpecError("name_invalid", f"this name is not allowed: {TOOL_NAME_RULE}.")
        if not name.startswith(prefix) or name == prefix:
            own = name.rpartition(":")[2] or "<function>"
            raise SpecError("name_prefix", f"a tool is named after its file. Write '{prefix}{own}'.")

    def _handler(self) -> DescribedHandler:
        if "handler" not in self._fields:
            raise SpecError("handler_missing", "it has no handler. Write 'handler': the function to call.")
        value = self._fields["handler"]
        try:
            if type(value) is FunctionType and not value.__dict__:
                return read_handler(value, f"{self._module}.py")
            # A decorated or callable object may run code of the module when it is asked for its signature.
            return self._trusted.keep(lambda: read_handler(value, f"{self._module}.py"))
        except SpecError:
            raise
        except BaseException as error:  # noqa: BLE001 - a signature may be code of the module
            raised = class_name(type(error))
            sentence = f"reading the handler's signature raised {raised}. Give a plain function."
            raise SpecError("handler_unreadable", sentence) from None

    def _description(self, handler: DescribedHandler | None) -> str | None:
        value = self._fields.get("description")
        text = as_text(value)
        if value is not None and text is None:
            raise SpecError("description_invalid", f"its description is {type_name(value)}. Write a string.")
        if text is not None and len(text) > DESCRIPTION_CHARS_MAX:
            size = f"{len(text):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed"
            raise SpecError("description_invalid", f"its description has {size}. Shorten it.")
        if text and text.strip():
            return text
        if handler and not (handler.doc or "").strip():
            sentence = "it has no description, and its handler has no docstring. Say what the tool does."
            raise SpecError("description_invalid", sentence)
        return None

    def _parameters(self, handler: DescribedHandler | None) -> JsonObject | None:
        value = self._fields.get("parameters")
        if value is None:
            return None
        try:
            parameters = plain_object(value, "parameters", depth_max=SCHEMA_DEPTH_MAX)
        except NotPlainError as error:
            sentence = f"{error}. Write a JSON Schema as plain data, or leave it out."
            raise SpecError("parameters_invalid", sentence) from None
        check_size(parameters)
        if parameters.get("type", "object") != "object":
            sentence = "its parameters are not of type object, but a tool takes named arguments. Write 'type': 'object'."
            raise SpecError("parameters_invalid", sentence)
        for sentence in islice(contradictions(parameters, handler) if handler else (), _TOLD_MAX):
            self._refuse("parameters_contradict", sentence)
        return parameters

    def _notes(self) -> tuple[Note, ...]:
        unknown = [key for key in self._fields if key not in KEYS]
        return tuple(
            note(
                "key_unknown",
                self._module,
                self._line,
                f"{self._title}: the key '{key[:64]}' means nothing here{did_you_mean(key, KEYS)}",
            )
            for key in unknown[:_TOLD_MAX]
        )
