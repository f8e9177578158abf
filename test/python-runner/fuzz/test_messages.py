"""A fixed part of `npm run fuzz -- messages`, against a runner of whoever runs the tests and one of an ordinary user."""

import pytest

from fuzz.batch import no_outcome
from fuzz.command import Budget
from fuzz.messages import CALL_MOMENTS, CHECK_MOMENTS, fuzz, no_report
from fuzz.users import users

SEED = 20_261_122
CASES = 120


@pytest.mark.parametrize("as_nobody", users())
def test_no_message_of_a_child_is_more_than_its_own_failure(as_nobody: bool) -> None:
    report = fuzz(SEED, Budget(cases=CASES), as_nobody=as_nobody)
    assert [str(finding) for finding in report.findings] == []
    assert report.tried >= CASES > len(CALL_MOMENTS) + len(CHECK_MOMENTS)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"code": "INVENTED", "error": "x"},
        {"code": None},
        {"code": "WORKER_DIED", "error": "the process it was forked from died"},
    ],
)
def test_an_answer_that_is_no_outcome_is_seen(answer: dict[str, object]) -> None:
    assert no_outcome(answer) is not None


TOOL = {"name": "fuzz:run", "accepted": True}


@pytest.mark.parametrize(
    "report",
    [
        {"status": 500, "error": "x"},
        {"ok": "yes", "faults": [], "tools": []},
        {"ok": True, "tools": []},
        {"ok": False, "faults": [], "tools": [TOOL]},
        {"ok": True, "faults": [], "tools": [TOOL | {"name": "others:run"}]},
    ],
)
def test_an_answer_that_is_no_report_on_the_module_is_seen(report: dict[str, object]) -> None:
    assert no_report(report) is not None


def test_outcomes_and_reports_are_no_findings() -> None:
    assert no_outcome({"code": "RESULT_INVALID", "error": "x"}) is None
    assert no_outcome({"value": 1}) is None
    assert no_report({"ok": True, "faults": [], "tools": [TOOL]}) is None
