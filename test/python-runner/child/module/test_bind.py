"""Arguments that do not fit are told by name, before the handler is called."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import called
from toolrack_runner.child.module.call import arguments_fault
from toolrack_runner.child.module.handler import read_handler


def forecast(city: str, days: int = 3, *, unit: str = "c", context: object = None) -> None: ...


def nothing() -> None: ...


def anything(city: str, **rest: Any) -> None: ...


@pytest.mark.parametrize(
    ("handler", "arguments", "fault"),
    [
        (forecast, {"city": "Bern"}, None),
        (forecast, {"city": "Bern", "days": None, "unit": "f"}, None),
        (nothing, {}, None),
        (anything, {"city": "Bern", "zip": 3000, "context": 1}, None),
        (forecast, {}, "forecast() misses the required argument 'city'. It takes 'city', 'days' and 'unit'."),
        (
            forecast,
            {"citty": "Bern"},
            (
                "forecast() misses the required argument 'city' and got the unexpected argument 'citty'. "
                "Did you mean 'city'? It takes 'city', 'days' and 'unit'."
            ),
        ),
        (
            forecast,
            {"city": "Bern", "Days": 1, "UNIT": "c"},
            (
                "forecast() got the unexpected arguments 'Days' and 'UNIT'. Did you mean 'days' for 'Days' "
                "and 'unit' for 'UNIT'? It takes 'city', 'days' and 'unit'."
            ),
        ),
        (
            forecast,
            {"city": "Bern", "context": {}},
            "forecast() gets 'context' from the runner; it is no argument. Leave it out.",
        ),
        (nothing, {"zip": 1}, "nothing() got the unexpected argument 'zip'. It takes no arguments."),
        (anything, {"zip": 1}, "anything() misses the required argument 'city'. It takes 'city'."),
    ],
)
def test_a_misfit_is_one_sentence_that_names_it_and_what_was_meant(
    handler: Callable[..., None], arguments: dict[str, Any], fault: str | None
) -> None:
    assert arguments_fault(read_handler(handler, "x.py"), arguments) == fault


def test_a_handler_is_not_called_with_arguments_that_do_not_fit() -> None:
    outcome = called("def run(a): raise SystemExit", b=1)
    assert outcome["code"] == "ARGUMENTS_INVALID"


def test_no_value_of_an_argument_is_repeated() -> None:
    said = arguments_fault(read_handler(forecast, "x.py"), {"citty": "s3cret"})
    assert said is not None
    assert "s3cret" not in said


@given(st.dictionaries(st.text(), st.none(), max_size=40))
def test_any_names_are_answered_by_a_short_sentence_or_fit(arguments: dict[str, None]) -> None:
    handler = read_handler(forecast, "x.py")
    said = arguments_fault(handler, arguments)
    assert (said is None) is (set(arguments) <= {"city", "days", "unit"} and "city" in arguments)
    assert said is None or len(said) < 2_000
