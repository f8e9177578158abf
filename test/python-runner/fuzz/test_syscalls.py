"""A fixed part of `npm run fuzz -- syscalls`, against a runner of whoever runs the tests and one of an ordinary user."""

import pytest

from fuzz.command import Budget, Report
from fuzz.known_findings import KNOWN_OPEN
from fuzz.syscalls import fuzz
from fuzz.users import users

SEED = 20_261_122
#: Some seconds on an idle machine.
CASES, EVERY = 2_500, 23


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    """One of each user."""
    return [fuzz(SEED, Budget(cases=CASES), as_nobody=nobody, every=EVERY) for nobody in users()]


def test_no_system_call_that_is_allowed_has_an_effect_outside(reports: list[Report]) -> None:
    assert [str(finding) for report in reports for finding in report.new] == []
    for report in reports:
        assert report.tried >= CASES
        assert report.counts["looked at alive"] > report.counts["children"] / 4, report.counts


def test_what_is_known_to_be_open_is_still_found(reports: list[Report]) -> None:
    """Where this fails a hole is closed: take it out of KNOWN_OPEN, so that it is found if it opens again."""
    found = {(finding.observer, finding.subject) for report in reports for finding in report.findings}
    assert KNOWN_OPEN - found == frozenset()
