"""The runner speaks error codes of the closed list, and means the same by them."""

import pytest

from toolrack_runner.errors import ERROR_CODES
from vectors.cases import cases

KNOWN = {case.given: case.expected for case in cases("errors")}


@pytest.mark.parametrize("code", ERROR_CODES)
def test_a_code_of_the_runner_means_what_the_contract_says(code: str) -> None:
    kind = ERROR_CODES[code]
    assert {"httpStatus": kind.http_status, "status": kind.status, "retry": kind.retry} == KNOWN[code]
