"""The rule for tool names is one rule in both languages."""

import pytest

from toolrack_runner.tool_name import is_tool_name
from vectors.cases import Case, cases


@pytest.mark.parametrize("case", cases("names"), ids=lambda case: case.title)
def test_a_name_is_allowed_here_exactly_where_the_service_allows_it(case: Case) -> None:
    assert is_tool_name(case.given) is case.expected
