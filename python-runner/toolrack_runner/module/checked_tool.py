"""Completes an accepted spec: a description or parameters that it leaves out come from the handler."""

from dataclasses import dataclass

from toolrack_runner.limits import DESCRIPTION_CHARS_MAX
from toolrack_runner.module.facts import class_name
from toolrack_runner.module.fault import Fault, SpecError, fault
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.schema import check_size, schema_fault
from toolrack_runner.module.signature_schema import read_docstring, signature_schema
from toolrack_runner.module.spec import Tool
from toolrack_runner.wire.frames import JsonObject


@dataclass(frozen=True, slots=True)
class CheckedTool:
    """A tool as it will be defined, unless it has faults. `derived` names what came from the handler."""

    tool: Tool
    description: str
    parameters: JsonObject
    derived: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


def checked_tool(module: LoadedModule, tool: Tool) -> CheckedTool:
    """Derives what the spec leaves out and compiles the schema. Never raises."""
    try:
        return _checked(module, tool)
    except SpecError as error:
        found = fault(error.kind, module.name, tool.line, f"'{tool.name}': {error}")
        return CheckedTool(tool, tool.description or "", tool.parameters or {}, faults=(found,))


def _checked(module: LoadedModule, tool: Tool) -> CheckedTool:
    derived: list[str] = []
    description, parameters = tool.description, tool.parameters
    if description is None:
        description = _derived_description(tool)
        derived.append("description")
    if parameters is None:
        parameters = _derived_parameters(module, tool)
        derived.append("parameters")
    broken = schema_fault(parameters)
    if broken:
        raise SpecError("parameters_invalid", f"{broken}.")
    return CheckedTool(tool, description, parameters, tuple(derived))


def _derived_description(tool: Tool) -> str:
    docstring = (tool.handler.doc or "").strip()
    description = read_docstring(docstring)[0] or docstring
    if len(description) > DESCRIPTION_CHARS_MAX:
        sentence = f"its docstring has {len(description):,} characters of {DESCRIPTION_CHARS_MAX:,} allowed. Shorten it."
        raise SpecError("description_invalid", sentence)
    return description


def _derived_parameters(module: LoadedModule, tool: Tool) -> JsonObject:
    try:
        parameters = module.trusted.keep(lambda: signature_schema(tool.handler))
    except SpecError:
        raise
    except BaseException as error:  # noqa: BLE001 - an annotation may raise anything
        sentence = (
            f"reading the types of {tool.handler.title} raised {class_name(type(error))}. Write parameters."
        )
        raise SpecError("parameters_underivable", sentence) from None
    check_size(parameters)
    return parameters
