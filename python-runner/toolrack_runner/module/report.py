"""The report of a check, as JSON: the same shape at every stage, so that the last one that arrived is the answer."""

from collections.abc import Iterable, Sequence

from toolrack_runner.module.checked_tool import CheckedTool
from toolrack_runner.module.fault import Fault, Note
from toolrack_runner.module.parse import ParsedModule
from toolrack_runner.module.plain import JsonObject, JsonValue
from toolrack_runner.module.tool import SpecFault


def report(
    stage: str,
    parsed: ParsedModule,
    *,
    notes: Sequence[Note],
    missing: Sequence[str],
    faults: Sequence[Fault] = (),
    tools: Iterable[JsonObject] = (),
) -> JsonObject:
    """`ok` says that the module loads and at least one of its specs is accepted."""
    listed: list[JsonValue] = list(tools)
    accepted = any(isinstance(each, dict) and each["accepted"] for each in listed)
    lines = [found.line for found in faults if found.line]
    return {
        "stage": stage,
        "module": parsed.name,
        "ok": not faults and (accepted or stage == "parsed"),
        **({"line": lines[0]} if lines else {}),
        "faults": [fault_json(found) for found in faults],
        "notes": [_note_json(each) for each in notes],
        "imports": list(parsed.imports),
        "missingImports": list(missing),
        "specLines": dict(parsed.spec_lines),
        "tools": listed,
    }


def accepted_json(checked: CheckedTool, examples: Sequence[JsonObject], notes: Sequence[Note]) -> JsonObject:
    """A spec that was read; `accepted` unless its schema can't be had or does not compile."""
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
        "faults": [fault_json(found) for found in checked.faults],
        "notes": [_note_json(each) for each in (*tool.notes, *notes)],
        "examples": list(examples),
    }


def refused_json(refused: SpecFault) -> JsonObject:
    """A spec that was refused."""
    faults: list[JsonValue] = [fault_json(found) for found in refused.faults]
    return {
        "name": refused.name,
        "line": refused.line,
        "accepted": False,
        "faults": faults,
        "notes": [],
        "examples": [],
    }


def fault_json(found: Fault) -> JsonObject:
    """A fault with its error code, its kind, and its sentence."""
    told: JsonObject = {"code": found.code, "kind": found.kind, "message": found.message}
    if found.line:
        told["line"] = found.line
    if found.traceback:
        told["traceback"] = found.traceback
    return told


def _note_json(found: Note) -> JsonObject:
    told: JsonObject = {"kind": found.kind, "message": found.message}
    return {**told, "line": found.line} if found.line else told
