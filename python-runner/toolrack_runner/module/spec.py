"""Reading one spec: a tool, or every reason why it is none."""

from collections.abc import Callable
from itertools import islice
from types import FunctionType
from typing import Any, TypeVar

from toolrack_runner.module.class_facts import class_name, type_name
from toolrack_runner.module.contradiction import contradictions
from toolrack_runner.module.example import ExamplesRefused, read_examples
from toolrack_runner.module.fault import Fault, FaultKind, Note, fault, note
from toolrack_runner.module.handler import DescribedHandler, HandlerRefused, read_handler
from toolrack_runner.module.limits import DESCRIPTION_CHARS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.plain import JsonObject, NotPlain, as_items, as_text, plain_object
from toolrack_runner.module.schema_size import schema_bytes, too_large
from toolrack_runner.module.spec_fields import (
    FieldRefused,
    read_annotations,
    read_network,
    read_plain,
    read_secrets,
    read_timeout,
)
from toolrack_runner.module.tool import SpecFault, Tool
from toolrack_runner.module.trusted_names import Names
from toolrack_runner.tool_name import TOOL_NAME_RULE, is_tool_name

T = TypeVar("T")

#: Of many faults of one kind the first ones help; a report stays small however large the spec.
_TOLD_MAX = 10
_NAME_CHARS_MAX = 128

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


def read_spec(module: str, index: int, element: object, line: int | None, trusted: Names) -> Tool | SpecFault:
    """One element of TOOL_SPECS; never raises, and runs code of the module only to read the handler's signature."""
    items = as_items(element)
    if items is None:
        sentence = f"TOOL_SPECS[{index}] is {type_name(element)}. Write a dict with {', '.join(KEYS[:4])}."
        return SpecFault(index, None, line, (fault("spec_not_a_dict", module, line, sentence),))
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
        self._title = f"'{self._name[:_NAME_CHARS_MAX]}'" if self._name else f"TOOL_SPECS[{index}]"

    def read(self) -> Tool | SpecFault:
        self._check_name()
        handler = self._handler()
        description = self._description(handler)
        parameters = self._parameters(handler)
        annotations = self._field("annotations", read_annotations)
        timeout = self._field("timeoutSeconds", read_timeout)
        secrets = self._field("secrets", read_secrets) or ()
        network = self._field("network", read_network) or ()
        examples = self._field("examples", lambda value: read_examples(read_plain("examples", value))) or ()
        if self._faults or handler is None or self._name is None:
            name = None if self._name is None else self._name[:_NAME_CHARS_MAX]
            return SpecFault(self._index, name, self._line, tuple(self._faults))
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

    def _check_name(self) -> None:
        prefix = f"{self._module}:"
        name = self._name
        if name is None:
            said = (
                f"its name is {type_name(self._fields['name'])}"
                if "name" in self._fields
                else "it has no name"
            )
            self._refuse("name_invalid", f"{said}. Write 'name': '{prefix}<function>'.")
        elif not is_tool_name(name):
            self._refuse("name_invalid", f"this name is not allowed: {TOOL_NAME_RULE}.")
        elif not name.startswith(prefix) or name == prefix:
            own = name.rpartition(":")[2] or "<function>"
            self._refuse("name_prefix", f"a tool is named after its file. Write '{prefix}{own}'.")

    def _handler(self) -> DescribedHandler | None:
        if "handler" not in self._fields:
            self._refuse("handler_missing", "it has no handler. Write 'handler': the function to call.")
            return None
        value = self._fields["handler"]
        try:
            if type(value) is FunctionType and not value.__dict__:
                return read_handler(value, f"{self._module}.py")
            # A decorated or callable object may run code of the module when it is asked for its signature.
            return self._trusted.keep(lambda: read_handler(value, f"{self._module}.py"))
        except HandlerRefused as refused:
            self._refuse(refused.kind, refused.sentence)
        except BaseException as error:  # noqa: BLE001 - a signature may be code
            self._refuse(
                "handler_unreadable",
                f"reading the handler's signature raised {class_name(type(error))}. Give a plain function.",
            )
        return None

    def _description(self, handler: DescribedHandler | None) -> str | None:
        value = self._fields.get("description")
        text = as_text(value)
        if value is not None and text is None:
            self._refuse("description_invalid", f"its description is {type_name(value)}. Write a string.")
        elif text is not None and len(text) > DESCRIPTION_CHARS_MAX:
            sentence = f"its description has {len(text):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed. Shorten it."
            self._refuse("description_invalid", sentence)
        elif (text is None or not text.strip()) and handler and not (handler.doc or "").strip():
            self._refuse(
                "description_invalid",
                "it has no description, and its handler has no docstring. Say what the tool does.",
            )
        return text if text and text.strip() else None

    def _parameters(self, handler: DescribedHandler | None) -> JsonObject | None:
        value = self._fields.get("parameters")
        if value is None:
            return None
        try:
            parameters = plain_object(value, "parameters", depth_max=SCHEMA_DEPTH_MAX)
        except NotPlain as refused:
            self._refuse(
                "parameters_invalid", f"{refused}. Write a JSON Schema as plain data, or leave it out."
            )
            return None
        size = schema_bytes(parameters)
        if size > SCHEMA_BYTES_MAX:
            self._refuse("parameters_too_large", too_large(size))
        elif parameters.get("type", "object") != "object":
            sentence = "its parameters are not of type object, but a tool takes named arguments. Write 'type': 'object'."
            self._refuse("parameters_invalid", sentence)
        elif handler:
            for sentence in islice(contradictions(parameters, handler), _TOLD_MAX):
                self._refuse("parameters_contradict", sentence)
        return parameters

    def _field(self, key: str, read: Callable[[object], T]) -> T | None:
        if self._fields.get(key) is None:
            return None
        try:
            return read(self._fields[key])
        except ExamplesRefused as refused:
            self._refuse("examples_invalid", f"{refused}.")
        except FieldRefused as refused:
            self._refuse("examples_invalid" if key == "examples" else "field_invalid", f"{refused}.")
        return None

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
