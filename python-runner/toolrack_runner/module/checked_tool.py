"""One accepted spec, completed from its handler and looked at by a validator."""

from dataclasses import dataclass, replace

from toolrack_runner.module.compiled_schema import schema_fault
from toolrack_runner.module.docstring import read_docstring
from toolrack_runner.module.fault import Fault, FaultKind, fault
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.plain import JsonObject
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
    checked = CheckedTool(tool, tool.description or "", tool.parameters or {}, (), ())
    if tool.description is None:
        description = read_docstring(tool.handler.doc or "").description or (tool.handler.doc or "").strip()
        checked = replace(checked, description=description, derived=("description",))
    if tool.parameters is None:
        try:
            parameters = module.trusted.keep(lambda: signature_schema(tool.handler))
        except Underivable as reason:
            return _refused(checked, module, "parameters_underivable", f"{reason}.")
        except BaseException as error:  # noqa: BLE001 - an annotation may raise anything
            sentence = f"reading the types of {tool.handler.title} raised {type(error).__name__[:64]}. Write parameters."
            return _refused(checked, module, "parameters_underivable", sentence)
        checked = replace(checked, parameters=parameters, derived=(*checked.derived, "parameters"))
    broken = schema_fault(checked.parameters)
    return _refused(checked, module, "parameters_invalid", f"{broken}.") if broken else checked


def _refused(checked: CheckedTool, module: LoadedModule, kind: FaultKind, sentence: str) -> CheckedTool:
    found = fault(kind, module.name, checked.tool.line, f"'{checked.tool.name}': {sentence}")
    return replace(checked, faults=(*checked.faults, found))
