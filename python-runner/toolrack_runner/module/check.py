"""The check of one module, in two stages: what reading it tells, then what importing it and running its examples tells."""

from collections.abc import Callable
from importlib import import_module

from toolrack_runner.module.checked_tool import CheckedTool, checked_tool
from toolrack_runner.module.fault import ModuleFault, Note, note
from toolrack_runner.module.load import LoadedModule, load_module
from toolrack_runner.module.module_name import is_available
from toolrack_runner.module.parse import ParsedModule, parse_module
from toolrack_runner.module.plain import JsonObject
from toolrack_runner.module.report import accepted_json, refused_json, report
from toolrack_runner.module.run_example import run_example


def check_module(name: str, source: bytes, *, send: Callable[[JsonObject], None]) -> None:
    """Sends a report after each stage, `parsed` before any code of the module runs and `loaded` at the end; never raises.

    Between them come `imported` (the report before any example has run) and, before each example, `running`, so that
    whoever ends a check that takes too long knows what it was at.
    """
    _import_what_is_needed()
    parsed = parse_module(name, source)
    missing = [package for package in parsed.packages if not is_available(package.name)]
    names = [package.name for package in missing if not package.optional]
    notes = [_missing_note(parsed, package.name, package.line) for package in missing if not package.optional]
    send(report("parsed", parsed, notes=notes, missing=names, faults=parsed.faults))
    if parsed.faults:
        return send(report("loaded", parsed, notes=notes, missing=names, faults=parsed.faults))
    try:
        module = load_module(name, source, parsed.declared)
    except ModuleFault as refused:
        return send(report("loaded", parsed, notes=notes, missing=names, faults=[refused.fault]))
    checked = [checked_tool(module, tool) for tool in module.tools.values()]
    send(report("imported", parsed, notes=notes, missing=names, tools=_tools(module, checked, {})))
    examples = {each.tool.name: _examples(module, each, send) for each in checked if not each.faults}
    return send(report("loaded", parsed, notes=notes, missing=names, tools=_tools(module, checked, examples)))


def _tools(
    module: LoadedModule, checked: list[CheckedTool], examples: dict[str, list[JsonObject]]
) -> list[JsonObject]:
    """Every spec in the order of TOOL_SPECS, whether accepted or not."""
    told = {refused.index: refused_json(refused) for refused in module.faults}
    for each in checked:
        ran = examples.get(each.tool.name, [])
        told[each.tool.index] = accepted_json(each, ran, _example_notes(module, each, ran))
    return [told[index] for index in sorted(told)]


def _examples(
    module: LoadedModule, checked: CheckedTool, send: Callable[[JsonObject], None]
) -> list[JsonObject]:
    ran: list[JsonObject] = []
    for example in checked.tool.examples:
        send(
            {
                "stage": "running",
                "tool": checked.tool.name,
                "example": example.index,
                "line": checked.tool.line,
            }
        )
        ran.append(run_example(module, checked, example))
    return ran


def _example_notes(module: LoadedModule, checked: CheckedTool, ran: list[JsonObject]) -> list[Note]:
    return [
        note(
            "example_failed",
            module.name,
            checked.tool.line,
            f"'{checked.tool.name}': example {example['index']} {_failing(example)}.",
        )
        for example in ran
        if example["outcome"] == "failure" or example["matched"] is False
    ]


def _failing(example: JsonObject) -> str:
    if example["outcome"] == "failure":
        return f"ended with {example['code']}"
    return "gave another result than it says"


def _missing_note(parsed: ParsedModule, package: str, line: int) -> Note:
    sentence = (
        f"'{package}' is not installed here, so this import will fail. "
        "Use the standard library, or ask the operator to add it."
    )
    return note("import_unavailable", parsed.name, line, sentence)


def _import_what_is_needed() -> None:
    """Before the module can put anything in the place of what these libraries rely on."""
    for library in ("docstring_parser", "jsonschema_rs", "pydantic.json_schema"):
        import_module(library)
