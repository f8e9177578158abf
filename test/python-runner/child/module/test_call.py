"""One call of one tool: from arguments to an outcome, whatever the handler does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import MODULES, called, loaded
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.load import LoadedModule, load_module

WEATHER = (MODULES / "weather.py").read_bytes()
TEXT_TOOLS = (MODULES / "text_tools.py").read_bytes()


def call(
    module: LoadedModule, tool: str, arguments: dict[str, Any], context: dict[str, Any] | None = None
) -> dict[str, Any]:
    return call_tool(module, tool, arguments, context or {}, output_bytes_max=100_000)


def test_text_that_a_handler_returns_is_the_text_as_it_is() -> None:
    outcome = call(
        load_module("weather", WEATHER), "weather:get_report", {"location": "Bern"}, {"user": "ada"}
    )
    assert outcome == {"outcome": "success", "text": "The weather in Bern is cloudy (asked by ada)."}


def test_data_that_a_handler_returns_comes_as_json_and_as_its_text() -> None:
    outcome = call(load_module("weather", WEATHER), "weather:get_temperatures", {"location": "Bern"})
    assert outcome["value"] == {"location": "Bern", "days": [{"min_c": 9, "max_c": 15}]}
    assert outcome["text"] == '{"location":"Bern","days":[{"min_c":9,"max_c":15}]}'


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("shout", {"text": "hé", "times": 2}, "HÉ HÉ"),
        ("count", {"text": "a tree"}, "2"),
        ("tell", {"text": "eel"}, '{"letter":"e","count":2}'),
        ("short", {"text": "abcdef"}, "abc"),
        ("short", {"text": "abcdef", "length": 2}, "ab"),
        ("reverse", {"text": "abc"}, "cba"),
        ("options", {"text": "a", "context": 1}, '{"text":"a","options":{"context":1}}'),
    ],
)
def test_a_handler_may_be_async_a_method_a_partial_an_object_or_decorated(
    tool: str, arguments: dict[str, Any], text: str
) -> None:
    assert call(load_module("text_tools", TEXT_TOOLS), f"text_tools:{tool}", arguments)["text"] == text


def test_the_context_is_given_only_to_a_handler_that_names_it() -> None:
    given = {"user": 1, "secrets": {}}
    assert called("def run(context): return context", context={"user": 1})["value"] == given
    assert called("def run(*, context=None): return context", context={"user": 1})["value"] == given
    assert called("def run(**rest): return rest", context={"user": 1})["value"] == {}


def test_an_unknown_tool_is_named_with_the_one_that_was_meant() -> None:
    outcome = call(load_module("weather", WEATHER), "weather:get_raport", {})
    assert outcome["code"] == "TOOL_NOT_FOUND"
    assert outcome["error"] == "Unsupported tool: weather:get_raport. Did you mean 'weather:get_report'?"


def test_a_tool_whose_spec_was_refused_says_why_it_is_not_there() -> None:
    module = loaded("def run(a, /): return a")
    outcome = call(module, "weather:run", {"a": 1})
    assert outcome["code"] == "TOOL_NOT_FOUND"
    assert "takes 'a' by position only" in outcome["error"]


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        ("raise KeyError('Bern')", "TOOL_RAISED", "KeyError: 'Bern'"),
        ("len(1, 2)", "TOOL_RAISED", "TypeError: "),
        ("run(b=1)", "TOOL_RAISED", "unexpected keyword argument 'b'"),
        ("return run()", "TOOL_RAISED", "RecursionError: "),
        ("raise KeyboardInterrupt", "TOOL_RAISED", "KeyboardInterrupt"),
        ("raise GeneratorExit", "TOOL_RAISED", "GeneratorExit"),
        ("raise type('Stop', (BaseException,), {})('now')", "TOOL_RAISED", "weather.Stop: now"),
        (
            "import sys; sys.exit(3)",
            "TOOL_CRASHED",
            "weather.py, line 2: the tool ended its process with exit()",
        ),
        ("exit()", "TOOL_CRASHED", "Return a value"),
        ("raise MemoryError", "MEMORY_LIMIT", "weather.py, line 2: the tool needs more memory"),
        ("bytearray(1 << 60)", "MEMORY_LIMIT", "line 2"),
        ("raise OSError(28, 'No space left on device')", "DISK_LIMIT", "weather.py, line 2"),
        ("raise OSError(27, 'File too large')", "DISK_LIMIT", "line 2"),
        ("raise OSError(122, 'Disk quota exceeded')", "DISK_LIMIT", "line 2"),
        (
            "raise OSError(2, 'No such file', 'a.txt')",
            "TOOL_RAISED",
            "FileNotFoundError: [Errno 2] No such file: 'a.txt'",
        ),
        (
            "import os; os.fork = None; raise PermissionError(1, 'x')  # os.fork()",
            "TOOL_RAISED",
            "starts no processes",
        ),
        (
            "return {1, print}",
            "RESULT_INVALID",
            "the result[…] is a builtin_function_or_method, which JSON has no form for; call it",
        ),
        ("return zip([])", "RESULT_INVALID", "return list(value)"),
        ("return 'a' * 200_000", "RESULT_TOO_LARGE", "has 200000 bytes, and 100000 are allowed"),
        ("return ['é' * 50_000]", "RESULT_TOO_LARGE", "100004 bytes"),
    ],
)
def test_what_a_handler_does_wrong_is_told_with_its_code_its_line_and_its_cure(
    body: str, code: str, part: str
) -> None:
    outcome = called(f"def run():\n    {body}")
    assert outcome["outcome"] == "failure"
    assert outcome["code"] == code, outcome
    assert part in outcome["error"]


@pytest.mark.parametrize(
    "body", ["raise KeyError('Bern')", "import sys; sys.exit(3)", "return object()", "raise MemoryError"]
)
def test_an_async_handler_fails_as_a_sync_one_does(body: str) -> None:
    sync = called(f"def run():\n    {body}")
    awaited = called(f"async def run():\n    {body}")
    assert awaited == sync


def test_a_handler_that_gives_back_an_awaitable_is_awaited() -> None:
    assert called("async def inner(): return 7\ndef run(): return inner()")["value"] == 7


def test_a_result_exactly_at_the_bound_passes() -> None:
    assert called("def run(): return 'é' * 50", output_bytes_max=100)["outcome"] == "success"
    assert called("def run(): return 'é' * 50", output_bytes_max=99)["code"] == "RESULT_TOO_LARGE"


def test_a_handler_sees_what_its_module_put_in_place_of_a_builtin_and_nobody_else_does() -> None:
    outcome = called(
        """
        import builtins
        builtins.ascii = lambda value: "mine"
        def run(): return ascii(1)
        """
    )
    assert outcome["text"] == "mine"
    assert ascii(1) == "1"


def test_what_a_handler_printed_is_out_before_the_answer(capfd: pytest.CaptureFixture[str]) -> None:
    module = loaded("import sys\nsys.stdout = open(1, 'w', closefd=False)\ndef run(): print('one'); return 1")
    call(module, "weather:run", {})
    assert capfd.readouterr().out == "one\n"
    assert module.tools, "the module and its stream live until here"


@pytest.mark.parametrize(
    "broken", ["sys.stdout = None", "del sys.stdout", "sys.stderr = Sly()", "sys.stdout.close()"]
)
def test_a_stream_that_the_module_broke_costs_no_answer(broken: str) -> None:
    sly = "class Sly:\n    def flush(self): raise SystemExit\n"
    assert (
        called(
            f"import sys, io\n{sly}def run():\n    sys.stdout = io.StringIO()\n    {broken}\n    return 1"
        )["value"]
        == 1
    )


@pytest.mark.parametrize("tool", ["", "weather", "weather:run\x00", "\ud800", "x" * 100_000])
def test_any_name_of_a_tool_is_answered(tool: str) -> None:
    outcome = call(loaded("def run(): return 1"), tool, {})
    assert outcome["code"] == "TOOL_NOT_FOUND"
    assert len(json.dumps(outcome).encode()) < 2_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    arguments=st.dictionaries(st.text() | st.sampled_from(["a", "b", "context", "self"]), JSON, max_size=5)
)
def test_whatever_the_arguments_are_there_is_an_outcome_that_json_can_write(
    arguments: dict[str, Any],
) -> None:
    outcome = call(MODULE, "weather:run", arguments)
    fits = "a" in arguments and not set(arguments) - {"a", "b"}
    if not fits:
        assert outcome["code"] == "ARGUMENTS_INVALID"
    assert outcome["outcome"] in {"success", "failure"}
    json.dumps(outcome, allow_nan=False).encode()


MODULE = loaded("def run(a, b=None, context=None): return [a, b]")
