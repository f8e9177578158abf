"""What a tool returned becomes the same text here as in the contract."""

from typing import Any

import pytest

from toolrack_runner.child.module.result import result_of
from toolrack_runner.child.module.result_errors import ResultError
from vectors.cases import Case, cases


def returned(given: Any) -> Any:
    """The value that a case stands for: what JSON can't write is named in it."""
    if isinstance(given, list):
        return [returned(each) for each in given]
    match given:
        case {"$number": name}:
            return float(name)
        case {"$surrogate": text}:
            return f"{text}\ud800"
        case {"$function": _}:
            return returned
        case {"$cycle": _}:
            endless: list[Any] = []
            endless.append(endless)
            return endless
        case dict():
            return {key: returned(value) for key, value in given.items()}
    return given


@pytest.mark.parametrize("case", cases("results"), ids=lambda case: case.title)
def test_a_returned_value_is_the_text_or_the_fault_that_the_contract_says(case: Case) -> None:
    if case.expected["outcome"] == "failure":
        with pytest.raises(ResultError):
            result_of(returned(case.given))
        return
    result = result_of(returned(case.given))
    assert result["text"] == case.expected["text"]
    assert ("value" in result) is ("value" in case.expected)
    assert result.get("value") == case.expected.get("value")
