"""What main believes of a child's report on a module.

The stage `parsed` comes before any code of the module has run. What comes after it may be the module's own invention, and is
taken for no more than its claims about itself: of the right shape, with names that are its own to give, and with hosts
that a spec may name.
"""

from typing import Any

import jsonschema_rs

from toolrack_runner.module.fault import Fault
from toolrack_runner.module.limits import HOSTS_MAX, SPECS_MAX
from toolrack_runner.module.report import fault_json
from toolrack_runner.network.hosts import read_host
from toolrack_runner.tool_name import is_tool_name
from toolrack_runner.wire.child_messages import ExampleStarts, ProtocolError, StageReport
from toolrack_runner.wire.json_depth import is_deeper

Report = dict[str, Any]

#: Below the report, its tools and one of them, the 32 levels that a schema or another field of a spec may have, and room.
#: What answers a check can write 254 levels.
REPORT_DEPTH_MAX = 40
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


def as_report(stage: StageReport, module: str) -> Report:
    """The report, if it is one about this module; raises ProtocolError for anything else."""
    report = stage.report
    if is_deeper(report, REPORT_DEPTH_MAX) or not _validator.is_valid(report):
        raise ProtocolError("a report has another shape")
    tools = [tool for tool in report["tools"] if tool["accepted"]]
    accepted = [tool["name"] for tool in tools]
    if len(set(accepted)) != len(accepted) or not all(_is_own(name, module) for name in accepted):
        raise ProtocolError("a report names tools that are not the module's")
    if any(read_host(host) is None for tool in tools for host in tool["network"]):
        raise ProtocolError("a report names hosts that no spec may name")
    return report | {
        "module": module,
        "ok": not report["faults"] and (bool(accepted) or stage.stage == "parsed"),
    }


def refused_report(report: Report | None, module: str, fault: Fault) -> Report:
    """A module whose import did not come to an end."""
    known = report or {"imports": [], "missingImports": [], "notes": []}
    line = {} if fault.line is None else {"line": fault.line}
    return (
        known
        | line
        | {"stage": "loaded", "module": module, "ok": False, "faults": [fault_json(fault)], "tools": []}
    )


def with_lost_example(report: Report, running: ExampleStarts | None, code: str, how: str) -> Report:
    """A module that was imported, and whose process ended while an example ran."""
    if running is None:
        return report | {"stage": "loaded"}
    lost = {
        "index": running.example,
        "outcome": "failure",
        "code": code,
        "error": how,
        "matched": False,
    }
    note = {
        "kind": "example_failed",
        "message": f"{running.tool}: an example ended its process: {how}",
    }
    tools = [
        tool | {"examples": [*tool["examples"], lost], "notes": [*tool["notes"], note]}
        if tool["name"] == running.tool
        else tool
        for tool in report["tools"]
    ]
    return report | {"stage": "loaded", "tools": tools}


def _is_own(name: object, module: str) -> bool:
    return isinstance(name, str) and is_tool_name(name) and name.startswith(f"{module}:")
