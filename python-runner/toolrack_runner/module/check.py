"""The check of one module: a report after reading it, then after importing it, then after running its examples."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from toolrack_runner.module.call import call_tool, failure
from toolrack_runner.module.checked_tool import CheckedTool, checked_tool
from toolrack_runner.module.fault import Fault, ModuleError, NoteJson, note
from toolrack_runner.module.imports import ImportedPackage
from toolrack_runner.module.load import LoadedModule, load_module
from toolrack_runner.module.parse import ParsedModule, parse_module
from toolrack_runner.module.plain import plain_object
from toolrack_runner.module.report import CheckReport, SpecReport, Stage
from toolrack_runner.module.schema import arguments_mismatch
from toolrack_runner.module.source import is_available
from toolrack_runner.module.spec import RefusedSpec, Tool
from toolrack_runner.module.spec_fields import Example
from toolrack_runner.module.user_traceback import cut_middle
from toolrack_runner.wire.frames import JsonObject

_OUTPUT_BYTES_MAX = 256 * 1024
_SHOWN_CHARS_MAX = 4_000
_DEPTH_MAX = 64

#: Takes a report, or what is sent before each example: `{"stage": "running", "tool", "example", "line"}`.
Send = Callable[[Mapping[str, object]], None]


def check_module(name: str, source: bytes, *, send: Send) -> None:
    """Sends `parsed` before any code of the module runs, `imported` before any example, `loaded` at the end. Never raises.

    Before each example it sends `running`, so that main can name the example if it has to end the check.
    """
    _import_libraries()
    parsed = parse_module(name, source)
    unavailable = [each for each in parsed.packages if not each.optional and not is_available(each.name)]

    def report(stage: Stage, *, faults: Sequence[Fault] = (), tools: Sequence[SpecReport] = ()) -> None:
        send(_report(stage, parsed, unavailable, faults, tools))

    report("parsed", faults=parsed.faults)
    if parsed.faults:
        return report("loaded", faults=parsed.faults)
    try:
        module = load_module(name, source, parsed.declared)
    except ModuleError as error:
        return report("loaded", faults=[error.fault])
    checked = [checked_tool(module, tool) for tool in module.tools.values()]
    report("imported", tools=_specs(module, checked, {}))
    examples = {each.tool.name: _run_examples(module, each, send) for each in checked if not each.faults}
    return report("loaded", tools=_specs(module, checked, examples))


def _import_libraries() -> None:
    """Before the module can replace anything that these libraries rely on."""
    for library in ("docstring_parser", "jsonschema_rs", "pydantic.json_schema"):
        import_module(library)


def _report(
    stage: Stage,
    parsed: ParsedModule,
    unavailable: Sequence[ImportedPackage],
    faults: Sequence[Fault],
    tools: Sequence[SpecReport],
) -> CheckReport:
    made: CheckReport = {
        "stage": stage,
        "module": parsed.name,
        "ok": not faults and (stage == "parsed" or any(tool["accepted"] for tool in tools)),
        "faults": [each.as_json() for each in faults],
        "notes": [_unavailable_note(parsed.name, package) for package in unavailable],
        "imports": list(parsed.imports),
        "missingImports": [package.name for package in unavailable],
        "tools": list(tools),
    }
    lines = [each.line for each in faults if each.line]
    if lines:
        made["line"] = lines[0]
    return made


def _specs(
    module: LoadedModule, checked: list[CheckedTool], examples: Mapping[str, list[JsonObject]]
) -> list[SpecReport]:
    """Every spec in the order of TOOL_SPECS, whether it is accepted or not."""
    specs = {refused.index: _refused_spec(refused) for refused in module.faults}
    for each in checked:
        ran = examples.get(each.tool.name, [])
        specs[each.tool.index] = _read_spec(each, ran, _example_notes(module, each.tool, ran))
    return [specs[index] for index in sorted(specs)]


def _read_spec(checked: CheckedTool, examples: list[JsonObject], notes: Sequence[NoteJson]) -> SpecReport:
    """A spec that could be read. It is accepted unless its schema cannot be derived or does not compile."""
    tool = checked.tool
    return {
        "name": tool.name,
        "line": tool.line,
        "accepted": not checked.faults,
        "description": checked.description,
        "parameters": checked.parameters,
        "derived": list(checked.derived),
        "annotations": tool.annotations,
        "timeoutSeconds": tool.timeout_seconds,
        "secrets": list(tool.secrets),
        "network": list(tool.network),
        "faults": [each.as_json() for each in checked.faults],
        "notes": [*tool.notes, *notes],
        "examples": examples,
    }


def _refused_spec(refused: RefusedSpec) -> SpecReport:
    return {
        "name": refused.name,
        "line": refused.line,
        "accepted": False,
        "faults": [each.as_json() for each in refused.faults],
        "notes": [],
        "examples": [],
    }


def _run_examples(module: LoadedModule, checked: CheckedTool, send: Send) -> list[JsonObject]:
    ran: list[JsonObject] = []
    tool = checked.tool
    for example in tool.examples:
        send({"stage": "running", "tool": tool.name, "example": example.index, "line": tool.line})
        ran.append({"index": example.index, "arguments": example.arguments, **_run(module, checked, example)})
    return ran


def _run(module: LoadedModule, checked: CheckedTool, example: Example) -> JsonObject:
    """Calls the handler as the example says. `matched` is null if the example expects no result. Never raises."""
    tool = checked.tool
    if tool.secrets or tool.network:
        return {"outcome": "skipped", "reason": "a check has neither secrets nor a network", "matched": None}
    mismatch = arguments_mismatch(checked.parameters, example.arguments)
    if mismatch:
        sentence = f"the example's arguments break the tool's own parameters: {mismatch}"
        outcome = failure("ARGUMENTS_INVALID", sentence)
    else:
        # Copies, so that the report does not show what a handler does to its arguments.
        arguments = plain_object(example.arguments, "arguments", depth_max=_DEPTH_MAX)
        context = plain_object(example.context, "context", depth_max=_DEPTH_MAX)
        outcome = call_tool(module, tool.name, arguments, context, output_bytes_max=_OUTPUT_BYTES_MAX)
    matched = _matched(example, outcome)
    for key in ("text", "error"):
        if isinstance(shown := outcome.get(key), str):
            outcome[key] = cut_middle(shown, _SHOWN_CHARS_MAX)
    outcome.pop("value", None)
    return {**outcome, "matched": matched}


def _matched(example: Example, outcome: JsonObject) -> bool | None:
    if not example.has_result and example.contains is None:
        return None
    text = outcome.get("text")
    if not isinstance(text, str):
        return False
    if example.contains is not None and example.contains not in text:
        return False
    return not example.has_result or outcome.get("value", text) == example.result


def _example_notes(module: LoadedModule, tool: Tool, ran: list[JsonObject]) -> list[NoteJson]:
    notes: list[NoteJson] = []
    for example in ran:
        if example["outcome"] == "failure":
            how = f"ended with {example['code']}"
        elif example["matched"] is False:
            how = "gave another result than it says"
        else:
            continue
        sentence = f"'{tool.name}': example {example['index']} {how}."
        notes.append(note("example_failed", module.name, tool.line, sentence))
    return notes


def _unavailable_note(module: str, package: ImportedPackage) -> NoteJson:
    sentence = (
        f"'{package.name}' is not installed here, so this import will fail. "
        "Use the standard library, or ask the operator to add it."
    )
    return note("import_unavailable", module, package.line, sentence)
