"""The runner speaks error codes of the closed list, and means the same by them."""

import re
from pathlib import Path

import pytest

from toolrack_runner.errors import ERROR_CODES
from vectors.cases import cases

KNOWN = {case.given: case.expected for case in cases("errors")}


@pytest.mark.parametrize("code", ERROR_CODES)
def test_a_code_of_the_runner_means_what_the_contract_says(code: str) -> None:
    kind = ERROR_CODES[code]
    assert {"httpStatus": kind.http_status, "status": kind.status, "retry": kind.retry} == KNOWN[code]


def test_every_code_that_is_raised_or_answered_is_on_the_list() -> None:
    runner = Path(__file__).parents[3] / "python-runner" / "toolrack_runner"
    text = "".join(path.read_text() for path in runner.rglob("*.py"))
    said = set(re.findall(r"\b(?:HttpError|Fault|failure|CallOutcome|End)\(\s*(?:code=)?\"([A-Z_]+)\"", text))
    assert {"RUNNER_UNAVAILABLE", "WORKER_DIED", "BODY_INVALID"} <= said
    assert said <= set(ERROR_CODES)
