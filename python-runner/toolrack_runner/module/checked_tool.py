"""Completes an accepted spec: a description or parameters that it leaves out come from the handler."""

from toolrack_runner.limits import DESCRIPTION_CHARS_MAX
from toolrack_runner.module.facts import class_name
from toolrack_runner.module.fault import FaultJson, SpecError, fault
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.report import SpecReport
from toolrack_runner.module.schema import check_size, schema_fault
from toolrack_runner.module.signature_schema import read_docstring, signature_schema
from toolrack_runner.module.spec import Tool
from toolrack_runner.wire.frames import JsonObject


def checked_tool(module: LoadedModule, tool: Tool) -> SpecReport:
    """The report on a spec, before its examples run. Never raises.

    The spec is accepted unless a part of it cannot be derived, or its schema does not compile.
    """
    faults: list[FaultJson] = []
    try:
        description, parameters, derived = _completed(module, tool)
    except SpecError as error:
        description, parameters, derived = tool.description or "", tool.parameters or {}, []
        faults = [fault(error.kind, module.name, tool.line, f"'{tool.name}': {error}").as_json()]
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
    """The description, the parameters, and the names of those of the two that were derived. Raises SpecError."""
    description = _derived_description(tool) if tool.description is None else tool.description
    parameters = _derived_parameters(module, tool) if tool.parameters is None else tool.parameters
    derived = [key for key in ("description", "parameters") if getattr(tool, key) is None]
    broken = schema_fault(parameters)
    if broken:
        raise SpecError("parameters_invalid", f"{broken}.")
    return description, parameters, derived


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
        kind = class_name(type(error))
        sentence = f"reading the types of {tool.handler.title} raised {kind}. Write parameters."
        raise SpecError("parameters_underivable", sentence) from None
    check_size(parameters)
    return parameters
