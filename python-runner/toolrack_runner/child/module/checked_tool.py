"""Completes an accepted spec: if it has no description or no parameters, they are derived from the handler."""

from functools import partial

from toolrack_runner.child.module.annotations import annotated, has_json_form, shown
from toolrack_runner.child.module.argument_kinds import REST_NAME, argument_kinds
from toolrack_runner.child.module.facts import class_name
from toolrack_runner.child.module.load import LoadedModule
from toolrack_runner.child.module.schema import check_size, schema_fault
from toolrack_runner.child.module.signature_schema import read_docstring, signature_schema
from toolrack_runner.child.module.spec import Tool
from toolrack_runner.limits import DESCRIPTION_CHARS_MAX
from toolrack_runner.near_miss import named
from toolrack_runner.wire.fault import FaultJson, ModuleError, NoteJson, SpecError, fault, note
from toolrack_runner.wire.frames import JsonObject
from toolrack_runner.wire.report import SpecReport

#: How many characters of the annotations a note shows. The rest is cut.
_SHOWN_CHARS_MAX = 200
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
        file, line = tool.file, tool.line
        if error.kind == "parameters_underivable" and tool.handler.file and tool.handler.line:
            file, line = tool.handler.file, tool.handler.line
        faults = [fault(error.kind, file, line, f"'{tool.name}': {error}").as_json()]
    return {
        "name": tool.name,
        "line": tool.line,
        "accepted": not faults,
        "description": description,
        "parameters": parameters,
        "derived": derived,
        "annotations": tool.annotations,
        "timeoutSeconds": tool.timeout_seconds,
        "limits": tool.limits,
        "secrets": list(tool.secrets),
        "network": list(tool.network),
        "reuse": tool.reuse,
        "onFailure": tool.on_failure,
        "kinds": {} if faults else _kinds(module, tool),
        "faults": faults,
        "notes": [*tool.notes, *_not_converted(module, tool)],
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
        module.converter(tool.name, tool.handler)
    except SpecError:
        raise
    except ModuleError as error:
        raise _error(error.fault.message.partition(": ")[2]) from None
    except BaseException as error:  # noqa: BLE001 - an annotation may raise anything
        kind = class_name(type(error))
        raise _error(f"reading the types of {tool.handler.title} raised {kind}. Write parameters.") from None
    check_size(parameters)
    return parameters


def _kinds(module: LoadedModule, tool: Tool) -> dict[str, list[str]]:
    """How the text of each argument is read. If reading the annotations raises, code of the module may read it (`other`)."""
    converts = tool.parameters is None
    try:
        return module.trusted.keep(lambda: argument_kinds(tool.handler, converts=converts))
    except BaseException:  # noqa: BLE001 - an annotation may raise anything
        return {name: ["other"] for name in [*tool.handler.names, REST_NAME]} if converts else {}


def _not_converted(module: LoadedModule, tool: Tool) -> list[NoteJson]:
    """A note if the spec states parameters, so nothing is converted, although annotations name types that JSON lacks."""
    if tool.parameters is None:
        return []
    try:
        hints = module.trusted.keep(lambda: _promises(tool))
    except BaseException:  # noqa: BLE001 - an annotation may raise anything, and then there is no note
        return []
    if not hints:
        return []
    shown_hints = " and ".join(sorted(set(hints.values())))[:_SHOWN_CHARS_MAX]
    sentence = (
        f"its parameters are written, so {named(hints)} of {tool.handler.title} stay as JSON has them, although the "
        f"annotations say {shown_hints}. Leave parameters out, or convert them in the handler."
    )
    return [
        note(
            "arguments_not_converted",
            module.name,
            tool.handler.line or tool.line,
            f"'{tool.name}': {sentence}",
        )
    ]


def _promises(tool: Tool) -> dict[str, str]:
    hints = annotated(tool.handler)
    return {name or "**kwargs": shown(hint) for name, hint in hints.items() if not has_json_form(hint)}
