"""A module of which a process before has told its code and where its specs stand does what the whole module does."""

import sys
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest

from child.module.tools import MODULES, source_of
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.load import (
    CODE_BYTES_MAX,
    LoadedModule,
    load_known,
    load_module,
    places,
    portable_code,
)
from toolrack_runner.child.module.source import code_object

TEXT_TOOLS = (MODULES / "text_tools.py").read_text()


@pytest.fixture(autouse=True)
def _forgets_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def known(name: str, text: str, at: dict[str, int] | None = None) -> LoadedModule:
    code = portable_code(code_object(f"{name}.py", text))
    assert code is not None
    return load_known(name, text, code, places(load_module(name, text.encode())) if at is None else at)


def call(module: LoadedModule, tool: str, **arguments: Any) -> dict[str, Any]:
    return call_tool(module, tool, arguments, {}, output_bytes_max=10_000)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shout", {"text": "hé", "times": 2}),
        ("count", {"text": "a tree"}),
        ("tell", {"text": "eel"}),
        ("short", {"text": "abcdef", "length": 2}),
        ("reverse", {"text": "abc"}),
        ("options", {"text": "a", "context": 1}),
        ("shout", {"texxt": "a"}),
        ("no_such", {}),
        ("shoot", {}),
    ],
)
def test_every_kind_of_handler_and_every_misfit_answers_as_before(
    tool: str, arguments: dict[str, Any]
) -> None:
    whole = load_module("text_tools", TEXT_TOOLS.encode())

    assert call(known("text_tools", TEXT_TOOLS), f"text_tools:{tool}", **arguments) == call(
        whole, f"text_tools:{tool}", **arguments
    )


def test_a_refused_spec_stays_refused_with_its_reason() -> None:
    text = dedent("""
        def run(): return "ran"
        TOOL_SPECS = [
            {"name": "weather:run", "description": "Runs.", "handler": run},
            {"name": "weather:bad", "description": 7, "handler": run},
            {"name": "weather:run", "description": "Runs too.", "handler": lambda: "other"},
        ]
    """)
    module = known("weather", text)

    assert call(module, "weather:run") == {"outcome": "success", "text": "ran"}
    refused = call(module, "weather:bad")
    assert (refused["code"], "Its spec is refused" in str(refused["error"])) == ("TOOL_NOT_FOUND", True)


@pytest.mark.parametrize("at", [{}, {"weather:run": 1}, {"weather:run": 7}])
def test_a_wrong_place_is_found_out(at: dict[str, int]) -> None:
    text = dedent("""
        def run(): return "ran"
        def other(): return "other"
        TOOL_SPECS = [
            {"name": "weather:run", "description": "Runs.", "handler": run},
            {"name": "weather:other", "description": "Other.", "handler": other},
        ]
    """)

    assert call(known("weather", text, at), "weather:run") == {"outcome": "success", "text": "ran"}


def test_a_module_that_offers_nothing_this_time_is_broken_and_says_so() -> None:
    outcome = call(known("weather", "x = 1\n", {"weather:run": 0}), "weather:run")

    assert outcome["code"] == "MODULE_BROKEN"
    assert "TOOL_SPECS" in str(outcome["error"])


def test_a_traceback_shows_the_lines_of_the_source() -> None:
    text = source_of("def run():\n    raise ValueError('no')").decode()
    outcome = call(known("weather", text), "weather:run")

    assert outcome["code"] == "TOOL_RAISED"
    assert "raise ValueError('no')" in str(outcome["error"])


def test_code_above_the_bound_is_left_to_each_process() -> None:
    assert portable_code(code_object("big.py", f"x = {'y' * CODE_BYTES_MAX!r}")) is None
