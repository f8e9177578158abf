"""What main believes of a child's report on a module.

The stage `parsed` comes before any code of the module has run. What comes after it may be the module's own invention, and is
taken for no more than its claims about itself: of the right shape, with names that are its own to give, and with hosts
that a spec may name.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

import jsonschema_rs

from toolrack_runner.module.fault import Fault
from toolrack_runner.module.limits import HOSTS_MAX, SPECS_MAX
from toolrack_runner.module.report import fault_json
from toolrack_runner.network.hosts import read_host
from toolrack_runner.tool_name import is_tool_name

Report = dict[str, Any]

_TEXT = {"type": "string", "maxLength": 32_768}
_LINE = {"type": "integer", "minimum": 1, "maximum": 1 << 20}
_NAMES = {"type": "array", "items": {"type": "string", "maxLength": 256}, "maxItems": 1_000}
_FAULTS = {
    "type": "array",
    "maxItems": 200,
    "items": {
        "type": "object",
        "required": ["message"],
        "properties": {"code": _TEXT, "kind": _TEXT, "message": _TEXT, "traceback": _TEXT, "line": _LINE},
        "additionalProperties": False,
    },
}
_ACCEPTED_PROPERTIES = {
    "description": _TEXT,
    "parameters": {"type": "object"},
    "derived": _NAMES,
    "annotations": {"type": ["object", "null"]},
    "timeoutSeconds": {"type": ["number", "null"]},
    "secrets": _NAMES,
    "network": {**_NAMES, "maxItems": HOSTS_MAX},
}
_TOOL = {
    "type": "object",
    "required": ["name", "accepted", "faults", "notes", "examples"],
    "properties": {
        "name": {"type": ["string", "null"], "maxLength": 1_000},
        "line": {"anyOf": [_LINE, {"type": "null"}]},
        "accepted": {"type": "boolean"},
        "faults": _FAULTS,
        "notes": _FAULTS,
        "examples": {"type": "array", "maxItems": 100, "items": {"type": "object"}},
        **_ACCEPTED_PROPERTIES,
    },
    "additionalProperties": False,
    "if": {"properties": {"accepted": {"const": True}}},
    "then": {"required": list(_ACCEPTED_PROPERTIES), "properties": {"faults": {"maxItems": 0}}},
}
_REPORT = {
    "type": "object",
    "required": ["stage", "ok", "faults", "notes", "imports", "missingImports", "tools"],
    "properties": {
        "stage": {"enum": ["parsed", "imported", "loaded"]},
        "module": _TEXT,
        "ok": {"type": "boolean"},
        "line": _LINE,
        "faults": _FAULTS,
        "notes": _FAULTS,
        "imports": _NAMES,
        "missingImports": _NAMES,
        "specLines": {"type": "object"},
        "tools": {"type": "array", "maxItems": SPECS_MAX, "items": _TOOL},
    },
    "additionalProperties": False,
}
_validator = jsonschema_rs.validator_for(_REPORT, offline=True)


def as_report(stage: object, module: str) -> Report | None:
    """The report, if it is one about this module; None for anything else."""
    if not isinstance(stage, dict) or not _validator.is_valid(stage):
        return None
    tools = [tool for tool in stage["tools"] if tool["accepted"]]
    accepted = [tool["name"] for tool in tools]
    if len(set(accepted)) != len(accepted) or not all(_is_own(name, module) for name in accepted):
        return None
    if any(read_host(host) is None for tool in tools for host in tool["network"]):
        return None
    return stage | {
        "module": module,
        "ok": not stage["faults"] and (bool(accepted) or stage["stage"] == "parsed"),
    }


def is_start_of_example(stage: object) -> TypeGuard[dict[str, Any]]:
    """Whether the child says which example it runs next."""
    return isinstance(stage, dict) and stage.get("stage") == "running"


def refused_report(report: Report | None, module: str, fault: Fault) -> Report:
    """A module whose import did not come to an end."""
    known = report or {"imports": [], "missingImports": [], "notes": []}
    line = {} if fault.line is None else {"line": fault.line}
    return (
        known
        | line
        | {"stage": "loaded", "module": module, "ok": False, "faults": [fault_json(fault)], "tools": []}
    )


def with_lost_example(report: Report, running: Mapping[str, Any], code: str, how: str) -> Report:
    """A module that was imported, and whose process ended while an example ran."""
    lost = {
        "index": running.get("example"),
        "outcome": "failure",
        "code": code,
        "error": how,
        "matched": False,
    }
    note = {
        "kind": "example_failed",
        "message": f"{running.get('tool')}: an example ended its process: {how}",
    }
    tools = [
        tool | {"examples": [*tool["examples"], lost], "notes": [*tool["notes"], note]}
        if tool["name"] == running.get("tool")
        else tool
        for tool in report["tools"]
    ]
    return report | {"stage": "loaded", "tools": tools}


def _is_own(name: object, module: str) -> bool:
    return isinstance(name, str) and is_tool_name(name) and name.startswith(f"{module}:")
