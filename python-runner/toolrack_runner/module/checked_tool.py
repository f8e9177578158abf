"""One accepted spec, completed from its handler and looked at by a validator."""

from dataclasses import dataclass

from toolrack_runner.module.class_facts import class_name
from toolrack_runner.module.compiled_schema import schema_fault
from toolrack_runner.module.docstring import read_docstring
from toolrack_runner.module.fault import Fault, FaultKind, fault
from toolrack_runner.module.limits import DESCRIPTION_CHARS_MAX, SCHEMA_BYTES_MAX
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.plain import JsonObject
from toolrack_runner.module.schema_size import schema_bytes, too_large
from toolrack_runner.module.signature_schema import Underivable, signature_schema
from toolrack_runner.module.tool import Tool


@dataclass(frozen=True, slots=True)
class CheckedTool:
    """A tool as it will be defined; `derived` names what came from the handler, `faults` says why it can't be."""

    tool: Tool
    description: str
    parameters: JsonObject
    derived: tuple[str, ...]
    faults: tuple[Fault, ...]


def checked_tool(module: LoadedModule, tool: Tool) -> CheckedTool:
    """Derives what the spec leaves out and compiles the schema; never raises."""
    try:
        return _checked(module, tool)
    except _Refused as refused:
        found = fault(refused.kind, module.name, tool.line, f"'{tool.name}': {refused}")
        return CheckedTool(tool, tool.description or "", tool.parameters or {}, (), (found,))


class _Refused(Exception):
    def __init__(self, kind: FaultKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def _checked(module: LoadedModule, tool: Tool) -> CheckedTool:
    derived: list[str] = []
    description, parameters = tool.description, tool.parameters
    if description is None:
        description = _described(tool)
        derived.append("description")
    if parameters is None:
        parameters = _derived(module, tool)
        derived.append("parameters")
    broken = schema_fault(parameters)
    if broken:
        raise _Refused("parameters_invalid", f"{broken}.")
    return CheckedTool(tool, description, parameters, tuple(derived), ())


def _described(tool: Tool) -> str:
    docstring = (tool.handler.doc or "").strip()
    description = read_docstring(docstring).description or docstring
    if len(description) > DESCRIPTION_CHARS_MAX:
        sentence = f"its docstring has {len(description):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed. Shorten it."
        raise _Refused("description_invalid", sentence)
    return description


def _derived(module: LoadedModule, tool: Tool) -> JsonObject:
    try:
        parameters = module.trusted.keep(lambda: signature_schema(tool.handler))
    except Underivable as reason:
        raise _Refused("parameters_underivable", f"{reason}.") from None
    except BaseException as error:  # noqa: BLE001 - an annotation may raise anything
        sentence = (
            f"reading the types of {tool.handler.title} raised {class_name(type(error))}. Write parameters."
        )
        raise _Refused("parameters_underivable", sentence) from None
    size = schema_bytes(parameters)
    if size > SCHEMA_BYTES_MAX:
        raise _Refused("parameters_too_large", too_large(size))
    return parameters
