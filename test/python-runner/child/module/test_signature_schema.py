"""A spec without parameters gets them from its handler's signature and docstring."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from child.module.tools import checked, kinds
from toolrack_runner.child.module.schema import schema_fault


def derived(source: str) -> dict[str, Any]:
    """The report on the one tool of a module whose spec states no parameters."""
    (tool,) = checked(source)["tools"]
    tool_report: dict[str, Any] = tool
    return tool_report


def test_types_defaults_and_requirements_come_from_the_signature() -> None:
    tool = derived(
        """
        from __future__ import annotations
        from enum import Enum
        from typing import Annotated, Literal
        from pydantic import Field
        class Unit(Enum):
            C = "c"
            F = "f"
        def run(
            city: str,
            days: int = 3,
            unit: Unit = Unit.C,
            mode: Literal["short", "long"] = "short",
            tags: list[str] | None = None,
            limit: Annotated[int, Field(ge=1, le=9, description="At most so many.")] = 5,
            *rest: int,
            plain,
            context: dict | None = None,
        ): ...
        """
    )
    assert tool["derived"] == ["parameters"]
    assert tool["parameters"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city", "plain"],
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "default": 3},
            "unit": {"$ref": "#/$defs/Unit", "default": "c"},
            "mode": {"type": "string", "enum": ["short", "long"], "default": "short"},
            "tags": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "default": 5,
                "description": "At most so many.",
            },
            "plain": {},
        },
        "$defs": {"Unit": {"type": "string", "enum": ["c", "f"]}},
    }


@pytest.mark.parametrize(
    "arguments",
    [
        "Args:\n    city: The city,\n        or its post code.\n    days (int): How many.",
        "Parameters\n----------\ncity : str\n    The city,\n    or its post code.\ndays : int\n    How many.",
        ":param city: The city,\n    or its post code.\n:param int days: How many.",
    ],
    ids=["Google", "NumPy", "reST"],
)
def test_descriptions_come_from_the_docstring(arguments: str) -> None:
    docstring = f"Get the weather.\n\nIn words.\n\n{arguments}\n"
    tool = derived(
        f"def run(city: str, days: int = 1): ...\nrun.__doc__ = {docstring!r}\n"
        "TOOL_SPECS = [{'name': 'weather:run', 'handler': run}]"
    )
    assert tool["derived"] == ["description", "parameters"]
    assert tool["description"] == "Get the weather.\n\nIn words."
    properties = tool["parameters"]["properties"]
    assert properties["city"]["description"] == "The city,\nor its post code."
    assert properties["days"]["description"] == "How many."


def test_what_the_author_states_is_left_as_it_is() -> None:
    tool = derived(
        """
        def run(city: str):
            '''Other words.

            Args:
                city: Other words.
            '''
        TOOL_SPECS = [{"name": "weather:run", "description": "Runs.", "handler": run, "parameters":
            {"type": "object", "properties": {"city": {"title": "City"}}, "required": ["city"], "x-own": 1}}]
        """
    )
    assert tool["derived"] == []
    assert tool["description"] == "Runs."
    assert tool["parameters"] == {
        "type": "object",
        "properties": {"city": {"title": "City"}},
        "required": ["city"],
        "x-own": 1,
    }


def test_a_description_in_the_annotation_goes_before_the_docstrings() -> None:
    tool = derived(
        """
        from typing import Annotated
        from pydantic import Field
        def run(city: Annotated[str, Field(description="By name.")]):
            '''Runs.

            Args:
                city: By code.
            '''
        """
    )
    assert tool["parameters"]["properties"]["city"]["description"] == "By name."


def test_an_argument_named_title_keeps_its_name() -> None:
    tool = derived("def run(title: str, description: str): ...")
    assert list(tool["parameters"]["properties"]) == ["title", "description"]


@pytest.mark.parametrize(
    ("handler", "properties"),
    [
        ("class T:\n    def go(self, a: int): ...\nrun = T().go", {"a": {"type": "integer"}}),
        ("class T:\n    def __call__(self, a: int): ...\nrun = T()", {"a": {"type": "integer"}}),
        (
            "from functools import partial\ndef go(a: int, b: str): ...\nrun = partial(go, b='x')",
            {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}},
        ),
        (
            "from functools import wraps\ndef go(a: int): ...\n@wraps(go)\ndef run(*a, **b): ...",
            {"a": {"type": "integer"}},
        ),
        ("async def run(a: int): ...", {"a": {"type": "integer"}}),
        ("def run(): ...", {}),
        ("def run(context): ...", {}),
    ],
)
def test_any_kind_of_handler_has_a_schema(handler: str, properties: dict[str, Any]) -> None:
    assert derived(handler)["parameters"].get("properties", {}) == properties


def test_a_handler_that_takes_any_argument_forbids_none() -> None:
    assert "additionalProperties" not in derived("def run(a, **rest): ...")["parameters"]


SLY = "class Sly:\n    def __get_pydantic_core_schema__(*_): raise SystemExit\n"
DEEP = "deep = int\nfor _ in range(40): deep = list[deep]\n"


@pytest.mark.parametrize(
    ("handler", "part"),
    [
        (
            "def run(**rest): ...",
            "run takes **kwargs and names no argument. Write parameters; a decorator needs",
        ),
        (
            "def run(a: 'Missing'): ...",
            "an annotation of run can't be resolved (name 'Missing' is not defined)",
        ),
        (
            "class Own: ...\ndef run(a: int, b: Own): ...",
            "the annotation of 'b' in run has no JSON Schema. Use types",
        ),
        ("def run(a: 7): ...", "the annotation of 'a' in run has no JSON Schema"),
        (f"{SLY}def run(a: Sly): ...", "raised SystemExit"),
        (f"{DEEP}def run(a: deep): ...", "is nested deeper than 32 levels. Write parameters"),
    ],
)
def test_a_signature_that_no_schema_comes_of_refuses_the_spec_with_its_cure(handler: str, part: str) -> None:
    tool = derived(handler)
    assert not tool["accepted"]
    (found,) = tool["faults"]
    assert found["kind"] == "parameters_underivable"
    assert found["message"].startswith("weather.py, line ")
    assert part in found["message"]


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ("{'type': 'object', 'properties': {'a': {'type': 'strnig'}}}", "no JSON Schema"),
        ("{'type': 'object', 'properties': {'a': {'$ref': 'https://example.com/a.json'}}}", "no JSON Schema"),
        ("{'type': 'object', 'properties': {'a': {'pattern': '('}}}", "no JSON Schema"),
        ("{'type': 'object', 'required': 'a'}", "no JSON Schema"),
        ("{'type': 'object', 'properties': []}", "no JSON Schema"),
    ],
)
def test_a_schema_that_does_not_compile_refuses_the_spec(parameters: str, part: str) -> None:
    spec = f"{{'name': 'weather:run', 'description': 'd', 'handler': run, 'parameters': {parameters}}}"
    report = checked(f"def run(a=1): ...\nTOOL_SPECS = [{spec}]")
    (tool,) = report["tools"]
    assert [fault["kind"] for fault in tool["faults"]] == ["parameters_invalid"]
    assert part in tool["faults"][0]["message"]
    assert not report["ok"]


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (
            "def run(a): ...\nrun.__doc__ = 'x' * 16_385\nTOOL_SPECS = [{'name': 'weather:run', 'handler': run}]",
            "description_invalid",
        ),
        (
            "from typing import Literal\ndef run(a: Literal[tuple(str(n) * 20 for n in range(900))]): ...",
            "parameters_too_large",
        ),
    ],
)
def test_what_is_derived_keeps_the_limits_of_what_is_stated(handler: str, kind: str) -> None:
    assert kinds(checked(handler)) == [kind]


def test_no_reference_of_a_schema_is_fetched() -> None:
    asked: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/a.json"
        said = schema_fault({"type": "object", "properties": {"a": {"$ref": address}}})
        server.shutdown()
    assert asked == []
    assert said is not None
    assert "no JSON Schema" in said
