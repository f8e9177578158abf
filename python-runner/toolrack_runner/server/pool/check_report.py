"""Checks a child's report on a module before the server process uses it.

A child sends the stage `parsed` before any code of the module has run. The module may have forged every later report. So
a report must have the right shape, and may name only tools of this module and hosts that a spec may name.
"""

import json
from typing import cast

import jsonschema_rs

from toolrack_runner.hosts import read_host
from toolrack_runner.tool_name import is_tool_name
from toolrack_runner.wire.child_messages import ExampleStarts, ProtocolError, StageReport
from toolrack_runner.wire.fault import Fault
from toolrack_runner.wire.frames import JsonObject
from toolrack_runner.wire.json_depth import is_deeper
from toolrack_runner.wire.report import SCHEMA_FILE, CheckReport

#: How many levels a report may have. A field of a spec, such as a schema, may have 32. The spec, the list of specs and the
#: report add a few. orjson, which writes the answer, can write 254.
REPORT_DEPTH_MAX = 40
_validator = jsonschema_rs.validator_for(json.loads(SCHEMA_FILE.read_bytes()), offline=True)


def as_report(stage: StageReport, module: str) -> CheckReport:
    """The report of a stage; raises ProtocolError if it is not a valid report on this module."""
    if not is_report(stage.report):
        raise ProtocolError("a report has another shape")
    report = cast("CheckReport", stage.report)
    accepted = [tool for tool in report["tools"] if tool["accepted"]]
    names = {tool["name"] for tool in accepted}
    own = [name for name in names if name and is_tool_name(name) and name.startswith(f"{module}:")]
    if len(own) != len(accepted):
        raise ProtocolError("a report names tools that are not the module's")
    if any(read_host(host) is None for tool in accepted for host in tool["network"]):
        raise ProtocolError("a report names hosts that no spec may name")
    report["module"] = module
    report["ok"] = not report["faults"] and (bool(accepted) or stage.stage == "parsed")
    return report


def is_report(claims: object) -> bool:
    """True if this has the shape of a report (`wire/check_report.schema.json`) and is not nested too deeply."""
    return not is_deeper(claims, REPORT_DEPTH_MAX) and _validator.is_valid(claims)


def refused_report(report: CheckReport | None, module: str, fault: Fault) -> CheckReport:
    """The report on a module whose import had to be ended, or ended its process.

    `report` is the child's report of the stage `parsed`, or None.
    """
    refused: CheckReport = report or {
        "stage": "loaded",
        "module": module,
        "ok": False,
        "faults": [],
        "notes": [],
        "imports": [],
        "missingImports": [],
        "tools": [],
    }
    refused |= {"stage": "loaded", "ok": False, "faults": [fault.as_json()], "tools": []}
    if fault.line is not None:
        refused["line"] = fault.line
    return refused


def with_lost_example(report: CheckReport, running: ExampleStarts | None, code: str, how: str) -> CheckReport:
    """The report on a module that was imported, but whose process has ended during an example."""
    for tool in report["tools"]:
        if running is not None and tool["name"] == running.tool:
            ended: JsonObject = {"outcome": "failure", "code": code, "error": how, "matched": False}
            tool["examples"].append({"index": running.example, **ended})
            message = f"{running.tool}: an example ended its process: {how}"
            tool["notes"].append({"kind": "example_failed", "message": message})
    report["stage"] = "loaded"
    return report
