"""The line of a spec or of a fault is where its author has to look: the dict of the spec, or its handler."""

import sys
from typing import Any

import pytest

from child.module.tools import checked

HANDLER = """
def run(a: int) -> int:
    "Runs."
    return a
"""


def tool_of(source: str) -> dict[str, Any]:
    """The report on the one tool of a module, whose source begins in line 1."""
    (tool,) = checked(source.strip().encode())["tools"]
    report: dict[str, Any] = tool
    return report


@pytest.mark.parametrize(
    ("specs", "line"),
    [
        ("TOOL_SPECS = [\n    {'name': 'weather:run', 'handler': run},\n]", 5),
        ("SPEC = {'name': 'weather:run', 'handler': run}\n\nTOOL_SPECS = [SPEC]", 4),
        ("def spec(f): return {'name': f'weather:{f.__name__}', 'handler': f}\nTOOL_SPECS = [spec(run)]", 1),
        (
            "TOOL_SPECS = []\nfor each in [run]:\n    TOOL_SPECS.append(dict(name='weather:run', handler=each))",
            1,
        ),
        ("class T:\n    def go(self): 'Goes.'\n\nTOOL_SPECS = [dict(name='weather:go', handler=T().go)]", 5),
    ],
)
@pytest.mark.parametrize("broken", [False, True])
def test_the_line_of_a_spec_is_its_dict_or_its_handler(specs: str, line: int, broken: bool) -> None:
    if broken:
        specs = specs.replace("'handler'", "'timeoutSeconds': -1, 'handler'")
        specs = specs.replace("handler=", "timeoutSeconds=-1, handler=")
    tool = tool_of(HANDLER + specs)
    assert tool["line"] == line
    assert [fault["line"] for fault in tool["faults"]] == [line] * broken


def test_a_type_that_has_no_schema_is_told_with_the_line_of_its_handler() -> None:
    tool = tool_of(
        "class Own: ...\n\ndef run(a: Own):\n    'Runs.'\n\nTOOL_SPECS = [{'name': 'weather:run', 'handler': run}]"
    )
    assert (tool["line"], tool["faults"][0]["line"]) == (6, 3)
    assert tool["faults"][0]["message"].startswith("weather.py, line 3: ")


DECORATOR = """
def timed(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@timed
def run(a: int) -> int:
    "Runs."
    return a
"""
OBJECT = """
class Timed:
    def __init__(self, function): self.function = function
    def __call__(self, *args, **kwargs): return self.function(*args, **kwargs)

@Timed
def run(a: int) -> int:
    "Runs."
    return a
"""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            DECORATOR,
            (
                "its handler is 'wrapper' (line 2), which 'timed' returns and which takes **kwargs and names no argument. "
                "If 'timed' is a decorator, put @functools.wraps(function) above 'wrapper'."
            ),
        ),
        (
            OBJECT,
            (
                "its handler is an instance of 'Timed', whose __call__ (line 3) takes **kwargs and names no argument. "
                "If 'Timed' is a decorator, call functools.update_wrapper(self, function) in its __init__."
            ),
        ),
    ],
)
@pytest.mark.parametrize(
    "spec",
    [
        "{'name': 'weather:run', 'handler': run}",
        "{'name': 'weather:run', 'description': 'Runs.', 'handler': run}",
    ],
)
def test_a_decorator_that_hides_the_function_is_named(source: str, said: str, spec: str) -> None:
    tool = tool_of(f"{source}\nTOOL_SPECS = [{spec}]")
    (fault,) = tool["faults"]
    assert said in fault["message"]
    assert fault["message"].startswith("weather.py, line ")


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        (
            DECORATOR,
            ("    def wrapper", "    import functools\n    @functools.wraps(function)\n    def wrapper"),
        ),
        (
            OBJECT,
            (
                "self.function = function",
                "self.function = function; __import__('functools').update_wrapper(self, function)",
            ),
        ),
    ],
)
def test_the_cure_works(source: str, cure: tuple[str, str]) -> None:
    tool = tool_of(f"{source.replace(*cure)}\nTOOL_SPECS = [{{'name': 'weather:run', 'handler': run}}]")
    assert tool["accepted"], tool["faults"]
    assert tool["parameters"]["properties"] == {"a": {"type": "integer"}}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="typing.TypedDict tells all since Python 3.12")
def test_a_typed_dict_of_a_python_that_cannot_says_what_to_import() -> None:
    tool = tool_of(
        "from typing import TypedDict\nclass Place(TypedDict):\n    name: str\ndef run(a: list[Place]):\n    'Runs.'\n"
        "TOOL_SPECS = [{'name': 'weather:run', 'handler': run}]"
    )
    said = "the annotation of 'a' in run uses typing.TypedDict, which in Python 3.11 does not tell which keys are needed. "
    assert said + "Write 'from typing_extensions import TypedDict'." in tool["faults"][0]["message"]


def test_an_alias_of_an_argument_is_refused_because_arguments_have_the_names_of_the_signature() -> None:
    tool = tool_of(
        "from typing import Annotated\nfrom pydantic import Field\n"
        "def run(a: Annotated[int, Field(alias='b')]):\n    'Runs.'\n"
        "TOOL_SPECS = [{'name': 'weather:run', 'handler': run}]"
    )
    assert tool["faults"][0]["kind"] == "parameters_underivable"
    assert "its parameters have 'b', but run takes 'a'." in tool["faults"][0]["message"]


def test_a_name_that_is_no_module_name_is_told_as_the_file() -> None:
    assert checked(b"", "a-b")["faults"][0]["message"].startswith("a-b.py: this is no module name")
