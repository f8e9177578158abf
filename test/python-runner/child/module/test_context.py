"""The context of a call is a dict, and tells its caller how much of the call is done."""

import copy
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

from child.module.tools import called, checked
from toolrack_runner.child.module.context import Context, context_of

FACTS = {"user": "ada", "caller": {"room": 4}}


@pytest.fixture
def told() -> Iterator[list[tuple[float, str]]]:
    """Everything that contexts tell."""
    heard: list[tuple[float, str]] = []
    before = Context.tell
    Context.tell = lambda fraction, text: heard.append((fraction, text))
    yield heard
    Context.tell = before


def test_a_context_is_a_dict_for_everything_that_takes_dicts() -> None:
    context = Context(FACTS)
    assert isinstance(context, dict)
    assert context == FACTS == dict(**context) == json.loads(json.dumps(context))
    assert copy.deepcopy(context) == FACTS
    assert pickle.loads(pickle.dumps(context)) == FACTS
    assert called("def run(context): return context", context=FACTS)["value"] == FACTS | {"secrets": {}}


def test_a_parameter_of_this_name_is_always_the_context() -> None:
    outcome = called("def run(context: str = 'x'): return context", context=FACTS)
    assert outcome["value"] == FACTS | {"secrets": {}}


SECRETS = {"QUOTES_KEY": "s3cret", "OTHER": "x"}


def test_the_secrets_are_a_dict_for_everything_that_takes_dicts() -> None:
    secrets = context_of({"secrets": dict(SECRETS)})["secrets"]
    assert isinstance(secrets, dict)
    assert secrets == SECRETS == dict(**secrets) == json.loads(json.dumps(secrets))
    assert copy.deepcopy(secrets) == copy.copy(secrets) == pickle.loads(pickle.dumps(secrets)) == SECRETS
    assert (secrets.get("X"), "X" in secrets, secrets["OTHER"]) == (None, False, "x")
    assert (
        called("def run(context): return context['secrets']", context={"secrets": SECRETS})["value"]
        == SECRETS
    )


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"secrets": SECRETS}, "'X' is not among the secrets of this spec: it names QUOTES_KEY, OTHER"),
        ({"secrets": {}}, "'X' is not among the secrets of this spec: it names none"),
        (FACTS, "'X' is not among the secrets of this spec: it names none"),
    ],
)
def test_a_secret_that_the_spec_does_not_name_is_an_error_with_the_names(
    facts: dict[str, Any], sentence: str
) -> None:
    outcome = called("def run(context): return context['secrets']['X']", context=facts)
    assert outcome["code"] == "TOOL_RAISED"
    assert f'KeyError: "{sentence}"' in outcome["error"]
    assert "s3cret" not in outcome["error"]


@pytest.mark.parametrize(
    ("fraction", "text", "heard"),
    [(0, "", (0.0, "")), (1, "all", (1.0, "all")), (0.25, "x" * 1_000, (0.25, "x" * 1_000))],
)
def test_progress_is_a_fraction_and_a_text(
    fraction: float, text: str, heard: tuple[float, str], told: list[tuple[float, str]]
) -> None:
    Context(FACTS).progress(fraction, text)
    assert told == [heard]


def test_any_number_is_a_fraction(told: list[tuple[float, str]]) -> None:
    class Half:
        def __float__(self) -> float:
            return 0.5

    Context().progress(Half())  # type: ignore[arg-type]
    assert told == [(0.5, "")]


WRONG: list[tuple[str, type[Exception], str]] = [
    ("float('nan')", ValueError, "fraction is nan, and must be from 0 to 1; half of the work is 0.5"),
    ("float('inf')", ValueError, "fraction is inf, and must be from 0 to 1"),
    ("2", ValueError, "fraction is 2, and must be from 0 to 1"),
    ("-0.001", ValueError, "fraction is -0.001, and must be from 0 to 1"),
    ("10 ** 400", ValueError, "fraction is inf, and must be from 0 to 1"),
    ("'x'", TypeError, "fraction is a str, and must be a number from 0 to 1"),
    ("'0.5'", TypeError, "fraction is a str, and must be a number from 0 to 1"),
    ("True", TypeError, "fraction is a bool, and must be a number from 0 to 1"),
    ("None", TypeError, "fraction is None, and must be a number from 0 to 1"),
    ("1j", TypeError, "fraction is a complex, and must be a number from 0 to 1"),
    ("0.5, 7", TypeError, "text is an int, and must be a str"),
    ("0.5, b'x'", TypeError, "text is a bytes, and must be a str"),
    ("0.5, 'x' * (1 << 20)", ValueError, "text has 1,048,576 characters, and may have 1,000"),
]


@pytest.mark.parametrize(("arguments", "kind", "sentence"), WRONG, ids=[each[0] for each in WRONG])
def test_wrong_progress_raises_where_the_tool_calls_it(
    arguments: str, kind: type[Exception], sentence: str, told: list[tuple[float, str]]
) -> None:
    outcome = called(f"def run(context):\n    context.progress({arguments})")
    assert outcome["code"] == "TOOL_RAISED"
    assert f"{kind.__name__}: progress(fraction, text): {sentence}" in outcome["error"]
    assert "toolrack_runner" not in outcome["error"]
    assert told == []


EXAMPLES = """
def run(city, context):
    print(context.progress(0.5, "half"))
    return context

TOOL_SPECS = [{
    "name": "weather:run", "description": "Runs.", "handler": run, "timeoutSeconds": 60,
    "examples": [{"arguments": {"city": "Bern"}, "context": {"room": 4}}],
}]
"""


def test_an_example_gets_its_context_as_that_of_the_caller() -> None:
    (example,) = checked(EXAMPLES)["tools"][0]["examples"]
    context: dict[str, Any] = json.loads(example["text"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", context.pop("deadline"))
    assert context == {
        "user": "example",
        "invocationId": "example",
        "tool": "weather:run",
        "session": None,
        "workflow": None,
        "caller": {"room": 4},
        "secrets": {},
    }
