"""A traceback shows the lines of the module and nothing of the runner, whatever the exception does."""

import pytest

from child.module.tools import called
from toolrack_runner.limits import ERROR_CHARS_MAX


def error_of(text: str) -> str:
    outcome = called(text)
    assert outcome["code"] == "TOOL_RAISED", outcome
    error: str = outcome["error"]
    return error


def test_a_traceback_reads_as_python_writes_it() -> None:
    assert error_of("def inner(city):\n    return {}[city]\n\ndef run():\n    return inner('Bern')") == (
        "Traceback (most recent call last):\n"
        '  File "weather.py", line 5, in run\n'
        "    return inner('Bern')\n"
        '  File "weather.py", line 2, in inner\n'
        "    return {}[city]\n"
        "KeyError: 'Bern'"
    )


def test_no_frame_of_the_runner_the_standard_library_or_the_interpreter_is_shown() -> None:
    error = error_of(
        """
        import json, asyncio
        async def run():
            await asyncio.wait_for(inner(), 1)
        async def inner():
            json.loads("{")
        """
    )
    files = {line.split('"')[1] for line in error.split("\n") if line.startswith("  File")}
    assert files == {"weather.py"}
    assert "toolrack" not in error
    assert "/" not in error


@pytest.mark.parametrize(
    ("handling", "order"),
    [
        (
            "raise ValueError('no') from error",
            ["ZeroDivisionError", "was the direct cause", "ValueError: no"],
        ),
        ("{}['a']", ["ZeroDivisionError", "the one below came up", "KeyError: 'a'"]),
    ],
)
def test_what_led_to_an_exception_is_told_before_it(handling: str, order: list[str]) -> None:
    error = error_of(
        f"def run():\n    try:\n        1 / 0\n    except ZeroDivisionError as error:\n        {handling}"
    )
    assert sorted(order, key=error.index) == order


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return flaot(1)", "NameError: name 'flaot' is not defined. Did you mean 'float'?"),
        ("return statistics.medain([1])", "has no attribute 'medain'. Did you mean 'median'?"),
        ("return re.sub('a', 'b', 'c')", "NameError: name 're' is not defined. Write 'import re'."),
        ("city = 1; return ctiy", "name 'ctiy' is not defined. Did you mean 'city'?"),
        ("return Options().limt", "has no attribute 'limt'. Did you mean 'limit'?"),
        ("return Options().colour", "has no attribute 'colour'"),
        ("return Options.lmit", "has no attribute 'lmit'. Did you mean 'limit'?"),
        ("return Sly().limt", "AttributeError: 'Sly' object has no attribute 'limt'"),
        ("raise NameError('flaot')", "NameError: flaot"),
    ],
)
def test_a_name_that_python_did_not_find_is_followed_by_the_one_that_was_meant(line: str, said: str) -> None:
    error = error_of(
        f"""
        import statistics
        class Options:
            def __init__(self):
                self.limit = 1
            limit = 2
        class Sly:
            @property
            def __dict__(self):
                raise SystemExit
        def run():
            {line}
        """
    )
    assert error.endswith(said), error


def test_what_an_author_suppresses_is_not_told() -> None:
    source = "def run():\n    try:\n        1 / 0\n    except ArithmeticError:\n        raise KeyError('a') from None"
    assert "ZeroDivisionError" not in error_of(source)


def test_notes_and_the_members_of_a_group_are_shown() -> None:
    error = error_of(
        """
        def run():
            error = ExceptionGroup("two", [ValueError("one"), ExceptionGroup("in", [KeyError("two")])])
            error.add_note("seen at noon")
            raise error
        """
    )
    assert "ExceptionGroup: two (2 sub-exceptions)\nseen at noon" in error
    assert "  exception 1 of 2:\n    ValueError: one" in error
    assert "      exception 1 of 1:\n        KeyError: 'two'" in error


def test_the_text_of_an_exception_may_have_many_lines_and_its_class_any_name() -> None:
    assert error_of("class Bad(Exception): ...\ndef run(): raise Bad('a\\nb')").endswith("weather.Bad: a\nb")
    assert error_of("def run(): raise ValueError").endswith("\nValueError")


def test_a_recursion_is_told_once() -> None:
    error = error_of("def run(n=0):\n    return run(n + 1)")
    assert error.count("in run") == 3
    assert "[the same line " in error
    assert "RecursionError" in error


def test_a_deep_stack_is_cut_in_its_middle() -> None:
    error = error_of(
        "def a(n): return b(n)\ndef b(n): return a(n - 1) if n else 1 / 0\ndef run(): return a(99)"
    )
    assert "frames more]" in error
    assert error.count("File") == 30
    assert error.startswith('Traceback (most recent call last):\n  File "weather.py", line 3, in run')
    assert error.endswith("ZeroDivisionError: division by zero")


UNTOLD = "weather.E: <its text can't be read: __str__ raised"
#: The body of an exception's class E, and how its traceback ends.
HOSTILE = [
    ("def __str__(self): raise SystemExit", f"{UNTOLD} SystemExit>"),
    ("def __str__(self): return 7", f"{UNTOLD} TypeError>"),
    ("def __str__(self): return 'x' * 10**8", "x" * 100),
    ("def __repr__(self): raise KeyboardInterrupt", "weather.E"),
    ("__qualname__ = 'x' * 9_999", "x" * 100),
    ("__module__ = 7", "7.E"),
    ("__notes__ = property(lambda self: 1 / 0)", "weather.E"),
    ("__notes__ = ['x' * 10**7] * 9_999", "x" * 100),
    ("__traceback__ = __cause__ = __context__ = property(lambda self: 1 / 0)", "weather.E"),
    ("__suppress_context__ = property(lambda self: 1 / 0)", "weather.E"),
    ("__class__ = int", "weather.E"),
    ("__class__ = OSError", "weather.E"),
    ("__class__ = ExceptionGroup", "weather.E"),
    ("def __init__(self): self.__cause__ = self", "weather.E"),
    ("errno = property(lambda self: 1 / 0)", "weather.E"),
]


@pytest.mark.parametrize(("body", "end"), HOSTILE)
@pytest.mark.parametrize("base", ["Exception", "OSError", "ImportError", "SyntaxError"])
def test_an_exception_that_does_what_it_can_against_being_told_is_told(
    base: str, body: str, end: str
) -> None:
    outcome = called(f"class E({base}):\n    {body}\ndef run():\n    raise E()")
    assert outcome["code"] == "TOOL_RAISED", outcome
    assert len(outcome["error"]) < ERROR_CHARS_MAX + 1_000
    assert outcome["error"].endswith((end, f"{end}: None")), outcome["error"][-300:]


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (
            """
            class M(type):
                def __getattribute__(self, name): raise SystemExit
            class E(Exception, metaclass=M): ...
            def run(): raise E()
            """,
            "an exception whose class can't be named",
        ),
        (
            """
            class M(type):
                __name__ = property(lambda self: 1 / 0)
            class Worse(Exception, metaclass=M): ...
            class E(Exception):
                def __str__(self): raise Worse
            def run(): raise E()
            """,
            "__str__ raised Worse>",
        ),
        (
            """
            class E(ExceptionGroup):
                exceptions = property(lambda self: 1 / 0)
            def run(): raise E("many", [ValueError(number) for number in range(9_999)])
            """,
            "  exception 8 of 9999:\n    ValueError: 7",
        ),
    ],
)
def test_a_hostile_metaclass_and_a_hostile_group_are_told(source: str, part: str) -> None:
    error = error_of(source)
    assert part in error
    assert "exception 9 of" not in error
    assert len(error) < ERROR_CHARS_MAX + 1_000


def test_an_exception_that_led_to_itself_is_told_once() -> None:
    error = error_of("def run():\n    error = KeyError('a')\n    error.__cause__ = error\n    raise error")
    assert error.count("KeyError: 'a'") == 1
    two = error_of(
        "def run():\n    a, b = KeyError('a'), ValueError('b')\n    a.__cause__, b.__cause__ = b, a\n    raise a"
    )
    assert [two.count("KeyError: "), two.count("ValueError: ")] == [1, 1]


def test_of_a_long_chain_the_last_are_told() -> None:
    source = """
        def run(depth=40):
            try:
                if depth: run(depth - 1)
                raise ValueError("first")
            except ValueError as error:
                raise ValueError(f"number {depth}") from error
        """
    assert error_of(source).count("ValueError: number") == 5


def test_a_long_text_of_an_exception_leaves_room_for_what_came_of_it() -> None:
    source = "def run():\n    try:\n        raise ValueError('x' * 50_000)\n    except ValueError as error:\n        {}[1]"
    error = error_of(source)
    assert error.count("Traceback") == 2
    assert "48,000 characters left out" in error


def test_of_many_notes_the_first_are_shown() -> None:
    error = error_of(
        "def run():\n    error = KeyError(1)\n    error.__notes__ = ['a note'] * 99\n    raise error"
    )
    assert error.count("a note") == 5


def test_a_traceback_is_cut_in_its_middle() -> None:
    error = error_of(
        "def run():\n    raise ExceptionGroup('g', [ValueError('x' * 2_000 + 'end') for _ in range(8)])"
    )
    assert len(error) < ERROR_CHARS_MAX + 100
    assert "characters left out" in error
    assert error.startswith("Traceback")
    assert error.endswith("xend")


def test_lone_surrogates_in_an_error_do_not_reach_the_wire() -> None:
    error_of("def run(): raise ValueError('a\\ud800b')").encode()
