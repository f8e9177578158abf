"""Main believes a report of a check exactly where the service can read it."""

import copy
import json
from typing import Any

import pytest

from toolrack_runner.limits import HOSTS_MAX, SPECS_MAX
from toolrack_runner.server.pool.check_report import is_report
from toolrack_runner.wire.report import SCHEMA_FILE, CheckReport, SpecReport
from vectors.cases import VECTORS, Case, cases

REPORT = json.loads((VECTORS / "check-report.json").read_text("utf-8"))["report"]
SCHEMA = json.loads(SCHEMA_FILE.read_text("utf-8"))


def reported(changes: dict[str, Any]) -> dict[str, Any]:
    """The report that a case stands for."""
    report: dict[str, Any] = copy.deepcopy(REPORT)
    report["tools"][0] |= changes.get("spec", {})
    for key in changes.get("withoutInSpec", ()):
        del report["tools"][0][key]
    for key in changes.get("without", ()):
        del report[key]
    report |= changes.get("report", {})
    return report


@pytest.mark.parametrize("case", cases("check-report"), ids=lambda case: case.title)
def test_a_report_is_believed_exactly_where_the_service_reads_it(case: Case) -> None:
    assert is_report(reported(case.given)) is case.expected


def test_the_schema_has_the_keys_of_the_types_and_the_bounds_of_a_module() -> None:
    properties, spec = SCHEMA["properties"], SCHEMA["$defs"]["spec"]
    assert set(properties) == set(CheckReport.__annotations__)
    assert set(SCHEMA["required"]) <= CheckReport.__required_keys__
    assert set(spec["properties"]) == set(SpecReport.__annotations__)
    assert set(spec["required"]) == SpecReport.__required_keys__
    assert properties["tools"]["maxItems"] == SPECS_MAX
    assert spec["properties"]["network"]["maxItems"] == HOSTS_MAX


@pytest.mark.parametrize("key", ["specLines", "sha256", "log"])
def test_a_report_with_a_key_that_no_check_sends_is_not_believed(key: str) -> None:
    assert not is_report(REPORT | {key: {}})


def test_a_report_that_is_nested_too_deeply_is_not_believed() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"properties": deep}
    assert is_report(reported({"spec": {"parameters": {"type": "object"}}}))
    assert not is_report(reported({"spec": {"parameters": deep}}))
