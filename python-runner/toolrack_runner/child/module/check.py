"""The check of one module. Sends a report after each of three stages: reading it, importing it, and running its examples."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

from toolrack_runner.child.module.call import call_tool, failure
from toolrack_runner.child.module.checked_tool import checked_tool
from toolrack_runner.child.module.context import example_context
from toolrack_runner.child.module.environment import is_in_environment
from toolrack_runner.child.module.files import ModuleFiles, Source
from toolrack_runner.child.module.import_fault import how_to_install
from toolrack_runner.child.module.imports import ImportedPackage
from toolrack_runner.child.module.load import LoadedModule, load_module
from toolrack_runner.child.module.parse import parse_module
from toolrack_runner.child.module.plain import plain_object
from toolrack_runner.child.module.schema import arguments_mismatch
from toolrack_runner.child.module.source import is_available
from toolrack_runner.child.module.spec import RefusedSpec, Tool
from toolrack_runner.child.module.spec_fields import Example
from toolrack_runner.child.module.user_traceback import cut_middle
from toolrack_runner.hosts import is_this_machine, read_host, why_not_this_machine
from toolrack_runner.own_libraries import OF_PYDANTIC
from toolrack_runner.wire.fault import Fault, ModuleError, NoteJson, fault, note
from toolrack_runner.wire.frames import JsonObject
from toolrack_runner.wire.report import CheckReport, SpecReport, Stage

#: The most bytes of an example's result. The service has the same limit for the result of a call.
_OUTPUT_BYTES_MAX = 256 * 1024
#: The most characters of a text or an error in the report of an example. The middle of a longer one is left out.
_SHOWN_CHARS_MAX = 4_000
#: The most levels of an example's arguments and context, which are copied level by level.
_DEPTH_MAX = 64

#: The libraries that a check needs, each with the top-level names that its import imports.
_LIBRARIES: Final = {
    "docstring_parser": ("docstring_parser",),
    "jsonschema_rs": ("jsonschema_rs",),
    "pydantic.json_schema": OF_PYDANTIC,
}

#: Takes a report. Also takes the message before each example: `{"stage": "running", "tool", "example", "line"}`.
Send = Callable[[Mapping[str, object]], None]


def check_module(
    name: str, source: Source, *, send: Send, this_machine: bool = False, packages: str = ""
) -> None:
    """Checks a module, and sends a report after each stage. Never raises.

    The report `parsed` is sent before any code of the module runs, `imported` before any example runs, and `loaded` at the
    end. Before each example, the message `running` is sent, so that the server process can name the example if it has to end
    the check. `this_machine` says whether a spec may name the machine of the runner in its `network`. `packages` is
    the folder of the module's environment, or empty. Before the report `parsed`, nothing of this folder is executed.
    """
    # These libraries are imported first. The module could replace names that they need at their import. If the environment
    # has one of them, the module gets that one, and so does the runner's code in this child.
    later = [library for library, names in _LIBRARIES.items() if _comes_from_environment(names, packages)]
    for library in _LIBRARIES:
        if library not in later:
            import_module(library)
    parsed = parse_module(name, source, packages)
    unavailable = [
        each for each in parsed.packages if not each.optional and not is_available(each.name, packages)
    ]

    def report(stage: Stage, *, faults: Sequence[Fault] = (), tools: Sequence[SpecReport] = ()) -> None:
        told = faults[0].package if faults else None
        made: CheckReport = {
            "stage": stage,
            "module": name,
            "ok": not faults and (stage == "parsed" or any(tool["accepted"] for tool in tools)),
            "faults": [each.as_json() for each in faults],
            "notes": [
                _unavailable_note(package, parsed.files)
                for package in unavailable
                if parsed.files is not None and package.name != told
            ],
            "imports": [package.name for package in parsed.packages],
            "missingImports": [package.name for package in unavailable],
            "tools": list(tools),
        }
        if faults and faults[0].line:
            made["line"] = faults[0].line
        send(made)

    report("parsed", faults=parsed.faults)
    if parsed.faults:
        return report("loaded", faults=parsed.faults)
    try:
        module = load_module(name, source, parsed.declared, packages=packages, libraries=later)
    except ModuleError as error:
        return report("loaded", faults=[error.fault])
    specs = {refused.index: _refused_spec(refused) for refused in module.faults}
    specs |= {tool.index: checked_tool(module, tool) for tool in module.tools.values()}
    for tool in () if this_machine else module.tools.values():
        _refuse_this_machine(specs[tool.index], tool)
    if module.files.is_package:
        places = {each.index: each.file for each in module.faults}
        places |= {tool.index: tool.file for tool in module.tools.values()}
        for index, spec in specs.items():
            spec["file"] = places[index]
    report("imported", tools=[specs[index] for index in sorted(specs)])
    for tool in module.tools.values():
        spec = specs[tool.index]
        if spec["accepted"]:
            ran = _run_examples(module, tool, spec["parameters"], send)
            notes = [*spec["notes"], *_secret_notes(tool), *_example_notes(tool, ran)]
            specs[tool.index] = {**spec, "notes": notes, "examples": ran}
    return report("loaded", tools=[specs[index] for index in sorted(specs)])


def _comes_from_environment(names: Sequence[str], packages: str) -> bool:
    """Whether the environment has one of these packages, and this process has not imported it from elsewhere."""
    return any(name not in sys.modules and is_in_environment(name, packages) for name in names)


def _refused_spec(refused: RefusedSpec) -> SpecReport:
    return {
        "name": refused.name,
        "line": refused.line,
        "accepted": False,
        "faults": [each.as_json() for each in refused.faults],
        "notes": [],
        "examples": [],
    }


def _refuse_this_machine(spec: SpecReport, tool: Tool) -> None:
    for position, text in enumerate(tool.network):
        host = read_host(text)
        if host is not None and is_this_machine(host.name):
            sentence = f"'{tool.name}': {why_not_this_machine(position, text)}."
            spec["accepted"] = False
            spec["faults"].append(fault("field_invalid", tool.file, tool.line, sentence).as_json())
            return


def _run_examples(module: LoadedModule, tool: Tool, parameters: JsonObject, send: Send) -> list[JsonObject]:
    ran: list[JsonObject] = []
    for example in tool.examples:
        send({"stage": "running", "tool": tool.name, "example": example.index, "line": tool.line})
        outcome = _run(module, tool, parameters, example)
        ran.append({"index": example.index, "arguments": example.arguments, **outcome})
    return ran


def _run(module: LoadedModule, tool: Tool, parameters: JsonObject, example: Example) -> JsonObject:
    """Calls the handler with an example. `matched` is null if the example does not say which result it expects.

    Never raises.
    """
    if tool.secrets or tool.network:
        return {"outcome": "skipped", "reason": "a check has neither secrets nor a network", "matched": None}
    mismatch = arguments_mismatch(parameters, example.arguments)
    if mismatch:
        sentence = f"the example's arguments break the tool's own parameters: {mismatch}"
        outcome = failure("ARGUMENTS_INVALID", sentence)
    else:
        # The handler gets copies, because it may change its arguments, and the report must show the original ones.
        arguments = plain_object(example.arguments, "arguments", depth_max=_DEPTH_MAX)
        caller = plain_object(example.context, "context", depth_max=_DEPTH_MAX)
        context = example_context(tool.name, tool.timeout_seconds, caller)
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
    if not isinstance(text, str) or (example.contains or "") not in text:
        return False
    return not example.has_result or outcome.get("value", text) == example.result


def _secret_notes(tool: Tool) -> list[NoteJson]:
    """A note for the author if the spec has `secrets` that the handler cannot get."""
    if not tool.secrets or tool.handler.takes_context:
        return []
    sentence = (
        f"'{tool.name}': it names secrets, but {tool.handler.title} has no parameter context, so it gets none of them. "
        'Add the parameter, and read context["secrets"].'
    )
    return [note("secrets_unreachable", tool.file, tool.line, sentence)]


def _example_notes(tool: Tool, ran: list[JsonObject]) -> list[NoteJson]:
    notes: list[NoteJson] = []
    for example in ran:
        if example["outcome"] == "failure" or example["matched"] is False:
            how = f"ended with {example['code']}" if "code" in example else "gave another result than it says"
            sentence = f"'{tool.name}': example {example['index']} {how}."
            notes.append(note("example_failed", tool.file, tool.line, sentence))
    return notes


def _unavailable_note(package: ImportedPackage, files: ModuleFiles) -> NoteJson:
    cure = how_to_install(package.name, files)
    sentence = f"'{package.name}' is not installed here, so this import will fail. {cure}."
    return note("import_unavailable", package.file, package.line, sentence)
