"""A handler may yield: texts become one text, any other values a list, and the limits hold for all values together."""

from typing import Any

import pytest

from child.module.tools import called, checked, loaded, source_of
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.load import load_module

COLLECTED: list[tuple[str, dict[str, Any]]] = [
    ("def run():\n    yield 'a'\n    yield 'b'", {"text": "ab"}),
    ("def run():\n    yield 'a'\n    yield 1", {"value": ["a", 1], "text": '["a",1]'}),
    ("def run():\n    yield {'a': (1, 2)}\n    yield None", {"value": [{"a": [1, 2]}, None]}),
    ("def run():\n    yield from ()", {"value": [], "text": "[]"}),
    ("def run():\n    return (each for each in 'ab')", {"text": "ab"}),
    ("async def run():\n    yield 'a'\n    yield 'b'", {"text": "ab"}),
    ("async def run():\n    return (each for each in (1, 2))", {"value": [1, 2]}),
    ("async def run():\n    async def values():\n        yield 1\n    return values()", {"value": [1]}),
    (
        "def run():\n    row = {}\n    for row['n'] in (1, 2):\n        yield row",
        {"value": [{"n": 1}, {"n": 2}]},
    ),
]


@pytest.mark.parametrize(("source", "result"), COLLECTED, ids=[each[0] for each in COLLECTED])
def test_what_a_handler_yields_is_its_result(source: str, result: dict[str, Any]) -> None:
    outcome = called(source)
    assert outcome["outcome"] == "success", outcome
    assert outcome.items() >= result.items()
    assert ("value" in outcome) == ("value" in result)


def sent(source: str, **more: Any) -> tuple[list[str], dict[str, Any]]:
    """The JSON texts that are sent at once, and the outcome."""
    texts: list[str] = []
    module = loaded(source)
    outcome = call_tool(module, "weather:run", {}, {}, output_bytes_max=100, send_value=texts.append, **more)
    return texts, outcome


def test_each_value_is_sent_as_it_is_yielded() -> None:
    texts, outcome = sent("def run():\n    yield 'a\"'\n    yield {'b': 1}\n    yield 'c'")
    assert texts == ['"a\\""', '{"b":1}', '"c"']
    assert outcome["value"] == ['a"', {"b": 1}, "c"]


KINDS = ["def", "async def"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_json_has_no_form_for_ends_the_call_and_the_generator(kind: str) -> None:
    texts, outcome = sent(f"""
        {kind} run():
            try:
                for number in range(10):
                    yield 1j if number == 6 else number
            finally:
                raise OSError("cleaned")
        """)
    assert texts == ["0", "1", "2", "3", "4", "5"]
    assert outcome["code"] == "RESULT_INVALID"
    assert outcome["error"] == (
        "run(): value 7 is a complex, which JSON has no form for; yield text, or dicts, lists, strings, numbers, "
        "True, False and None."
    )


def test_the_place_inside_of_a_value_is_named() -> None:
    outcome = called("def run():\n    yield 1\n    yield {'the result': [1j]}")
    assert outcome["error"].startswith("run(): value 2['the result'][0] is a complex, which")


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_never_ends_meets_the_limit_of_a_result(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, outcome = sent(f"""
        {kind} run():
            try:
                while True:
                    yield "0123456789"
            finally:
                print("cleaned")
        """)
    assert texts == ['"0123456789"'] * 10
    assert outcome["code"] == "RESULT_TOO_LARGE"
    assert (
        outcome["error"] == "The result of weather:run has more than the 100 bytes it may have; ask for less."
    )
    assert capsys.readouterr().out == "cleaned\n"


def test_values_without_a_size_are_counted() -> None:
    module = load_module(
        "weather", source_of("def run():\n    while True:\n        yield ''"), for_one_call=True
    )
    outcome = call_tool(module, "weather:run", {}, {}, output_bytes_max=100)
    assert outcome["code"] == "RESULT_TOO_LARGE"
    assert "more than the 500,000 values it may have" in str(outcome["error"])


def test_the_commas_and_quotes_of_a_list_count_too() -> None:
    assert called("def run():\n    yield 'é'\n    yield 1", output_bytes_max=8)["outcome"] == "success"
    outcome = called("def run():\n    yield 'é'\n    yield 1", output_bytes_max=7)
    assert "has 8 bytes, and 7 are allowed" in outcome["error"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_raises_is_told_with_its_line(kind: str) -> None:
    texts, outcome = sent(f"""
        {kind} run():
            for number in range(10):
                yield number
            raise KeyError("Bern")
        """)
    assert texts == [str(number) for number in range(10)]
    assert outcome["code"] == "TOOL_RAISED"
    assert 'raise KeyError("Bern")' in outcome["error"]
    assert "KeyError: 'Bern'" in outcome["error"]
    assert "toolrack_runner" not in outcome["error"]


def test_a_generator_that_refuses_to_close_changes_nothing() -> None:
    _, outcome = sent("""
        def run():
            try:
                yield 1j
            except GeneratorExit:
                yield "more"
        """)
    assert outcome["code"] == "RESULT_INVALID"


EXAMPLE = """
{before}

{kind} run(n):
    for number in range(n):
        yield number

TOOL_SPECS = [{{
    "name": "weather:run", "description": "Counts.", "handler": run,
    "examples": [{{"arguments": {{"n": 3}}, "result": [0, 1, 2]}}, {{"arguments": {{"n": 1}}, "result": [1]}}],
}}]
"""


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("def", ""),
        ("async def", ""),
        # The runner goes on with its own names.
        ("def", "import builtins; builtins.next = builtins.len = builtins.str = None"),
    ],
)
def test_the_examples_of_a_generator_are_run(kind: str, before: str) -> None:
    report = checked(EXAMPLE.format(kind=kind, before=before))
    assert [each["matched"] for each in report["tools"][0]["examples"]] == [True, False], report
