"""Where a schema is derived, arguments have the types that the annotations name, or a sentence says why they cannot."""

import json
import sys
from typing import Any

import pytest

from child.module.apart import called_apart
from child.module.tools import called, checked, loaded, source_of
from toolrack_runner.child.module.annotations import to_convert
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.handler import plain_handler
from toolrack_runner.child.module.load import converts, load_known, load_module, places, portable_code
from toolrack_runner.child.module.prepare import prepare
from toolrack_runner.child.module.schema import arguments_mismatch
from toolrack_runner.child.module.source import code_object

TYPES = """
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Iterable, Literal, NamedTuple, Optional
from uuid import UUID
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import NotRequired, TypedDict
class Unit(Enum):
    C = "c"
    F = "f"
class Level(IntEnum):
    HIGH = 2
@dataclass
class Options:
    limit: int
    unit: Unit = Unit.C
    since: date | None = None
    raw: bytes = b""
    more: list["Options"] = field(default_factory=list)
    def __post_init__(self):
        if self.limit == 0: raise ValueError("the limit is above 0")
        if self.limit == 1: raise TypeError("the limit is not one")
        if self.limit == 2: undefined
        if self.limit == 3: raise KeyError("three")
        if self.limit == 4: exit()
        if self.limit == 5: bytearray(1 << 60)
        assert self.limit != 6, "not six"
class Place(TypedDict):
    at: date
    note: NotRequired[str]
class Pair(NamedTuple):
    a: int
    b: Unit = Unit.F
class Own(BaseModel):
    at: datetime
    unit: Unit = Unit.C
def even(value: int) -> int:
    if value % 2: raise ValueError(f"{value} is odd")
    return value
Even = Annotated[int, AfterValidator(even)]
"""

#: An annotation, an argument, what the handler sees, an argument that cannot be converted, and what is said about it.
CASES: list[tuple[str, Any, str, Any, str]] = [
    ("Unit", "c", "<Unit.C: 'c'>", "x", "it should be 'c' or 'f'"),
    ("Level", 2, "<Level.HIGH: 2>", 3, "it should be 2"),
    ("Literal['a', 3]", "a", "'a'", "b", "it should be 'a' or 3"),
    (
        "Options",
        {"limit": 9, "unit": "f", "raw": "aGk=", "more": [{"limit": 8}]},
        (
            "Options(limit=9, unit=<Unit.F: 'f'>, since=None, raw=b'hi', "
            "more=[Options(limit=8, unit=<Unit.C: 'c'>, since=None, raw=b'', more=[])])"
        ),
        {"limit": 9, "more": [{"limit": "8"}]},
        "a['more'][0]['limit'] should be a valid integer",
    ),
    ("Options", {"limit": 9}, "", {}, "a['limit'] is missing"),
    ("Options", {"limit": 9}, "", {"limit": 9, "size": 1}, "a['size'] is not expected"),
    ("Options", {"limit": 9}, "", {"limit": 0}, "the limit is above 0"),
    ("Options", {"limit": 9}, "", {"limit": 1}, "TypeError: the limit is not one"),
    ("Options", {"limit": 9}, "", {"limit": 3}, "KeyError: 'three'"),
    ("Options", {"limit": 9}, "", {"limit": 6}, "not six"),
    ("Options", {"limit": 9}, "", {"limit": 9, "more": [{"limit": 0}]}, "a['more'][0]: the limit is above 0"),
    (
        "Place",
        {"at": "2026-01-02"},
        "{'at': datetime.date(2026, 1, 2)}",
        {"at": "soon"},
        "a['at'] should be a valid date",
    ),
    ("Place", {"at": "2026-01-02", "note": "x"}, "", {"note": "x"}, "a['at'] is missing"),
    ("Pair", [1], "Pair(a=1, b=<Unit.F: 'f'>)", ["x"], "a[0] should be a valid integer"),
    ("Own", {"at": "2026-01-02T03:04:05"}, "", {"at": "2026-01-02"}, "a['at'] should be a valid datetime"),
    ("date", "2026-01-02", "datetime.date(2026, 1, 2)", "2026-13-01", "it should be a valid date"),
    (
        "datetime",
        "2026-01-02T03:04:05",
        "datetime.datetime(2026, 1, 2, 3, 4, 5)",
        5,
        "it should be a valid datetime",
    ),
    ("time", "03:04:05", "datetime.time(3, 4, 5)", "25:00", "it should be in a valid time format"),
    ("timedelta", "P1DT2H", "datetime.timedelta(days=1, seconds=7200)", 7, "it should be a valid duration"),
    (
        "timedelta",
        "PT30M",
        "datetime.timedelta(seconds=1800)",
        "14",
        "it should be a valid duration, such as P14D or",
    ),
    (
        "UUID",
        "00000000-0000-0000-0000-000000000005",
        "UUID('00000000-0000-0000-0000-000000000005')",
        "five",
        "it should be a valid UUID",
    ),
    ("Decimal", "1.50", "Decimal('1.50')", "dear", "it should be a valid decimal"),
    ("Decimal", 0.1, "Decimal('0.1')", [], "Decimal input should be"),
    ("Path", "a/b.txt", "PosixPath('a/b.txt')", 3, "it should be a valid"),
    ("bytes", "+/8=", "b'\\xfb\\xff'", "%%", "it should be valid base64"),
    ("set[Unit]", ["c"], "{<Unit.C: 'c'>}", ["x"], "a[0] should be 'c' or 'f'"),
    ("frozenset[int]", [3], "frozenset({3})", ["3"], "a[0] should be a valid integer"),
    ("tuple[int, date]", [1, "2026-01-02"], "(1, datetime.date(2026, 1, 2))", [1], "a[1] is missing"),
    ("tuple", [1, "x"], "(1, 'x')", 1, "it should be a valid"),
    ("list[Unit]", ["c"], "[<Unit.C: 'c'>]", "c", "it should be a valid"),
    ("Iterable[Unit]", ["c"], "[<Unit.C: 'c'>]", ["x"], "a[0] should be 'c' or 'f'"),
    ("dict[int, Unit]", {"1": "c"}, "{1: <Unit.C: 'c'>}", {"x": "c"}, "a['x'] should be a valid integer"),
    ("date | Unit", "f", "<Unit.F: 'f'>", "z", "it should be a valid date"),
    ("Annotated[int, Field(ge=1)]", 1, "1", 0, "it should be greater than or equal to 1"),
    ("Even", 2, "2", 3, "3 is odd"),
]


def run(annotation: str, arguments: dict[str, Any], default: str = "") -> dict[str, Any]:
    """The outcome of a handler that returns how its argument looks."""
    return called(f"{TYPES}def run(a: {annotation}{default}): return repr(a)", **arguments)


@pytest.mark.parametrize(("annotation", "given", "seen", "wrong", "said"), CASES)
def test_an_argument_has_the_annotated_type_or_the_reason_is_said(
    annotation: str, given: Any, seen: str, wrong: Any, said: str
) -> None:
    outcome = run(annotation, {"a": given})
    assert outcome["outcome"] == "success", outcome
    assert outcome["text"] == seen or not seen
    refused = run(annotation, {"a": wrong})
    assert refused["code"] == "ARGUMENTS_INVALID", refused
    assert refused["error"].startswith(f"run() can't use its argument 'a': {said}")
    assert "pydantic" not in refused["error"]


@pytest.mark.parametrize("annotation", sorted({case[0] for case in CASES}))
def test_null_a_missing_argument_and_a_default_are_what_they_are_in_python(annotation: str) -> None:
    null = run(annotation, {"a": None})
    assert (null["code"], "its argument 'a'" in null["error"]) == ("ARGUMENTS_INVALID", True)
    assert "misses the required argument 'a'" in run(annotation, {})["error"]
    assert run(annotation, {}, " = object")["text"] == "<class 'object'>"
    assert run(f"Optional[{annotation}]", {"a": None})["text"] == "None"


@pytest.mark.parametrize(("annotation", "given"), [case[:2] for case in CASES])
def test_the_derived_schema_allows_what_is_converted(annotation: str, given: Any) -> None:
    source = source_of(f"{TYPES}def run(a: {annotation}): return 1")
    (tool,) = checked(source)["tools"]
    assert tool["accepted"], tool["faults"]
    assert arguments_mismatch(tool["parameters"], {"a": given}) is None
    assert not tool["notes"]


@pytest.mark.parametrize(
    ("limit", "code", "part"),
    [
        (2, "TOOL_RAISED", "NameError: name 'undefined' is not defined"),
        (4, "TOOL_CRASHED", "weather.py, line 28: the tool ended its process with exit()"),
        (5, "MEMORY_LIMIT", "the tool needs more memory"),
    ],
)
def test_a_fault_of_the_module_in_a_conversion_is_no_fault_of_the_argument(
    limit: int, code: str, part: str
) -> None:
    outcome = run("Options", {"a": {"limit": limit}})
    assert outcome["code"] == code, outcome
    assert part in outcome["error"]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("ValueError('x' * 1_000_000)", "characters left out"),
        ("ValueError()", "run() can't use its argument 'a': "),
        ("Sly()", "KeyError"),
        ("Stop('enough')", "weather.Stop: enough"),
        ("ValueError('a\\ud800')", "can't encode character"),
    ],
)
def test_whatever_a_validator_raises_the_sentence_is_short(raised: str, said: str) -> None:
    outcome = called(
        f"""
        from typing import Annotated
        from pydantic import AfterValidator
        class Sly(ValueError):
            def __str__(self): raise KeyError
        class Stop(Exception): ...
        def no(value): raise {raised}
        def run(a: Annotated[int, AfterValidator(no)]): ...
        """,
        a=1,
    )
    assert outcome["code"] == "ARGUMENTS_INVALID", outcome
    assert said in outcome["error"]
    assert len(json.dumps(outcome)) < 1_500


@pytest.mark.parametrize("reraise", ["raise", "raise ValueError(str(error))", "raise Stop(str(error))"])
def test_an_error_of_a_model_inside_a_validator_tells_no_address_of_pydantic(reraise: str) -> None:
    outcome = called(
        f"{TYPES}class Stop(Exception): ...\n@dataclass\nclass Late:\n    at: str\n    def __post_init__(self):\n"
        f"        try: Own(at=self.at)\n        except Exception as error: {reraise}\n"
        "def run(a: Late): ...",
        a={"at": "soon"},
    )
    assert outcome["code"] == "ARGUMENTS_INVALID"
    assert "be a valid datetime" in outcome["error"]
    assert "https://" not in outcome["error"]


def test_many_problems_are_counted_and_the_first_are_told() -> None:
    outcome = run("list[Unit]", {"a": ["x"] * 1_000})
    assert "a[2] should be 'c' or 'f'; and 997 more." in outcome["error"]


def test_text_without_unicode_is_said() -> None:
    assert "it holds text that is no Unicode (a lone surrogate)." in run("Unit", {"a": "\ud800"})["error"]


def test_named_arguments_beside_it_and_the_context_stay_as_they_are() -> None:
    outcome = called(
        f"{TYPES}def run(city: str, days: float, *, unit: Unit, context: date): return repr([city, days, unit, context])",
        context={"user": "ada"},
        city="Bern",
        days=3,
        unit="c",
    )
    assert outcome["text"] == "['Bern', 3, <Unit.C: 'c'>, {'user': 'ada', 'secrets': {}}]"


def test_annotated_rest_arguments_are_converted_and_described() -> None:
    source = f"{TYPES}def run(a: int, *rest, context=None, **units: Unit): return repr(units)"
    assert called(source, a=1, x="c", y="f")["text"] == "{'x': <Unit.C: 'c'>, 'y': <Unit.F: 'f'>}"
    assert "can't use its argument 'x': it should be 'c' or 'f'" in called(source, a=1, x="k")["error"]
    (tool,) = checked(source)["tools"]
    assert tool["parameters"]["additionalProperties"] == {"$ref": "#/$defs/Unit"}
    assert list(tool["parameters"]["properties"]) == ["a"]


@pytest.mark.parametrize(
    "handler",
    [
        "class T:\n    def go(self, a: Unit): return repr(a)\nrun = T().go",
        "class T:\n    def __call__(self, a: Unit): return repr(a)\nrun = T()",
        "from functools import partial\ndef go(b, a: Unit): return repr(a)\nrun = partial(go, 1)",
        "from functools import wraps\ndef go(a: Unit): return repr(a)\n@wraps(go)\ndef run(**b): return go(**b)",
        "from functools import cache\n@cache\ndef run(a: Unit): return repr(a)",
        "async def run(a: Unit): return repr(a)",
        "run = lambda a: repr(a)\nrun.__annotations__['a'] = Unit",
    ],
)
def test_any_kind_of_handler_is_converted(handler: str) -> None:
    assert called(TYPES + handler, a="c")["text"] == "<Unit.C: 'c'>"


def test_annotations_as_text_are_resolved() -> None:
    outcome = called(
        f"from __future__ import annotations\n{TYPES}def run(a: list[Unit]): return repr(a)", a=["c"]
    )
    assert outcome["text"] == "[<Unit.C: 'c'>]"


STATED = "TOOL_SPECS = [{'name': 'weather:run', 'description': 'd', 'handler': run, 'parameters': {'type': 'object'}}]"


@pytest.mark.parametrize(
    ("signature", "note"),
    [
        ("a: Unit = None", "so 'a' of run stay as JSON has them, although the annotations say Unit."),
        ("a: list[date] = ()", "list[datetime.date]"),
        ("a: Options = None, **rest: Unit", "'a' and '**kwargs' of run"),
        ("a: Literal['x'] = 'x', b: Annotated[int, Field(ge=1)] = 1, c: str | None = None, d=1", None),
        ("a: Annotated['Missing', 1] = None", None),
    ],
)
def test_stated_parameters_are_not_converted_and_the_report_says_so(signature: str, note: str | None) -> None:
    source = f"{TYPES}def run({signature}): return repr(a)\n{STATED}"
    assert called(source, a="c")["text"] == "'c'"
    (tool,) = checked(source)["tools"]
    line = TYPES.count("\n") + 1
    assert tool["accepted"]
    assert [each["kind"] for each in tool["notes"]] == ["arguments_not_converted"] * (note is not None)
    if note is not None:
        assert tool["notes"][0]["message"].startswith(
            f"weather.py, line {line}: 'weather:run': its parameters are written"
        )
        assert note in tool["notes"][0]["message"]


@pytest.mark.parametrize(
    "broken",
    [
        "pydantic.TypeAdapter = None",
        "sys.modules['pydantic'] = None",
        "typing.get_type_hints = None",
        "pydantic.TypeAdapter = type('T', (), {'__init__': lambda *a: sys.exit()})",
        "import typing_extensions; typing_extensions.TypedDict = 7",
    ],
)
def test_a_module_that_breaks_pydantic_breaks_its_own_call_only(broken: str) -> None:
    source = source_of(f"import sys, typing, pydantic\n{TYPES}def run(a: Unit): return repr(a)\n{broken}")
    outcome = called_apart("weather", source, a="c")
    assert outcome["code"] == "MODULE_BROKEN", outcome
    assert outcome["error"].startswith("weather.py: the types of run can't be used (")


def test_a_converter_is_built_once() -> None:
    source = """
        class Own:
            built = []
            @classmethod
            def __get_pydantic_core_schema__(cls, source, handler):
                cls.built.append(1)
                return handler(str)
        def run(a: Own): return len(Own.built)
        """
    module = loaded(source)
    assert [
        call_tool(module, "weather:run", {"a": "x"}, {}, output_bytes_max=99)["value"] for _ in range(3)
    ] == [1] * 3


def test_a_known_module_is_prepared_before_its_call() -> None:
    text = source_of(
        f"{TYPES}def run(a: Unit): return repr(a)\ndef bad(a: object()): ...\n"
        "TOOL_SPECS = [{'name': 'known:run', 'description': 'd', 'handler': run},"
        "{'name': 'known:bad', 'description': 'd', 'handler': bad}]"
    ).decode()
    code = portable_code(code_object("known", text))
    assert code is not None
    whole = load_module("known", text.encode())
    assert converts(whole)
    module = load_known("known", text, code, places(whole))
    prepare(module)
    assert set(module._converters) == {"known:run"}
    assert call_tool(module, "known:run", {"a": "c"}, {}, output_bytes_max=99)["text"] == "<Unit.C: 'c'>"
    assert call_tool(module, "known:bad", {"a": "c"}, {}, output_bytes_max=99)["code"] == "MODULE_BROKEN"
    sys.modules.pop("known")


def plain(
    a: str,
    b: int | None,
    c: list[dict[str, Any]],
    d: "float" = 1.0,
    *,
    e: bool = True,
    context: object = None,
) -> None: ...


def test_a_signature_of_plain_json_needs_no_pydantic() -> None:
    handler = plain_handler(plain)
    assert handler is not None
    assert to_convert(handler) == {}
    assert not converts(loaded("def run(a: str, b: list[int] | None = None, **c: float): ..."))
