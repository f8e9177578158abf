"""What a handler returns is text or JSON, or a fault that names the place and the cure."""

import gc
import json
import sys
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import called
from toolrack_runner.child.module.result import result_of
from toolrack_runner.child.module.result_errors import ResultError


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (
            "{'x': float('nan')}",
            "the result['x'] is nan, which JSON has no form for; return None, or text in its place",
        ),
        ("[-float('inf')]", "the result[0] is -inf, which"),
        ("Sub(float('nan'))", "the result is nan"),
        ("{float('nan'): 1}", "a key of the result is nan"),
        (
            "{__import__('enum').Enum('Kind', {'BIG': 10 ** 5000}).BIG: 1}",
            "a key of the result is a number of more than 4,300 digits; return hex(value), or round it",
        ),
        ("{(1, 2): 3}", "the result has a tuple as a key, but keys are text in JSON; write str(key)"),
        ("Model()", "return value.model_dump(mode='json')"),
        ("Scalar()", "return value.item()"),
        ("Sly()", "the result is a Sly, which JSON has no form for; return text, or dicts"),
        ("object()", "the result is an object, which JSON has no form for; return text, or dicts, lists"),
        ("print", "the result is a builtin_function_or_method, which JSON has no form for; call it"),
        ("run", "the result is a function, which JSON has no form for; call it"),
        ("[inner()]", "the result[0] is a coroutine, which JSON has no form for; await it in an async def"),
        (
            "[(x for x in 'ab')]",
            "the result[0] is a generator, which JSON has no form for; return list(value)",
        ),
        ("{'a': 1}.keys()", "return list(value)"),
        ("reversed([1])", "return list(value)"),
        ("10 ** 5000", "the result is a number of more than 4,300 digits; return hex(value), or round it"),
        (
            "endless",
            "the result[0][0] holds itself, so its JSON would never end; return a copy without the cycle",
        ),
        ("[shared, shared, object()]", "the result[2] is an object"),
        ("{'a': [0, Point(object())]}", "the result['a'][1]['x'] is an object, which JSON has no form for"),
        ("[{(1, print)}]", "the result[0][…][1] is a builtin_function_or_method, which"),
        ("{Point(1): 1}", "the result has a Point as a key, but keys are text in JSON; write str(key)"),
        ("Point(float('nan'))", "the result['x'] is nan, which JSON has no form for"),
        ("Path('a\\udcff')", "the result holds a lone surrogate"),
        ("around", "the result['x'][0] holds itself, so its JSON would never end"),
        ("Endless()", "nested deeper than 100 levels"),
        ("wide", "the result holds more than 500,000 values; return less"),
        ("range(3)", "the result is a range, which JSON has no form for; return list(value)"),
        ("deep(101)", "nested deeper than 100 levels"),
        ("deep(5_000)", "nested deeper than 100 levels"),
        ("'a\\ud800'", "the result holds a lone surrogate (character 2), which is no text; decode the bytes"),
        ("{'a': '\\udfff'}", "the result holds a lone surrogate (character 7)"),
        ("Liar()", "the result can't be written as JSON"),
    ],
)
def test_a_result_that_json_has_no_form_for_is_told_with_its_place_and_cure(
    expression: str, said: str
) -> None:
    outcome = called(f"{BEFORE}def run(): return {expression}")
    assert outcome["code"] == "RESULT_INVALID", outcome
    assert outcome["error"].startswith("run(): the result") or outcome["error"].startswith("run(): a key")
    assert said in outcome["error"]
    assert len(outcome["error"]) < 500


BEFORE = """
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
import warnings
warnings.simplefilter("ignore")
@dataclass(eq=False)
class Point:
    x: int
around = Point([])
around.x.append(around)
@dataclass
class Endless:
    x: int = 0
    def __getattribute__(self, name):
        return Endless() if name == "x" else object.__getattribute__(self, name)
wide = [[0] * 10_000] * 51 + [object()]
class Model:
    def model_dump(self): ...
class Scalar:
    def item(self): ...
class Sub(float): ...
class Meta(type):
    __name__ = __mro__ = __dict__ = property(lambda self: 1 / 0)
    def mro(self): return super().mro()
class Sly(metaclass=Meta): ...
class Liar(dict):
    def items(self): raise ValueError("not today")
    def __init__(self): super().__init__(a=1)
async def inner(): ...
shared = []
endless = [[]]
endless[0].append(endless[0])
def deep(levels):
    value = []
    for _ in range(levels - 1): value = [value]
    return value
"""


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("deep(100)", "[" * 100 + "]" * 100),
        ("(1, (2,))", "[1,[2]]"),
        ("{1: 'a', None: 'b', True: 'c', 1.5: 'd'}", '{"1":"c","null":"b","1.5":"d"}'),
        ("10 ** 20", "100000000000000000000"),
        ("Text('red')", "red"),
        ("[Text('red')]", '["red"]'),
        ("Number(7)", "7"),
        ("'[' * 300", "[" * 300),
        ("['[' * 300]", json.dumps(["[" * 300])),
        ("[shared, shared]", "[[],[]]"),
    ],
)
def test_whatever_json_can_write_is_a_result(expression: str, text: str) -> None:
    more = "class Text(str): ...\nclass Number(int): ...\n"
    outcome = called(f"{BEFORE}{more}def run(): return {expression}")
    assert outcome["text"] == text
    assert outcome.get("value", text) == (json.loads(text) if "value" in outcome else text)


#: Classes that say they are those of numpy and pandas. `packages/test_real_packages.py` tries the real ones.
PACKAGES = """
class generic:
    __module__ = "numpy"
    def item(self): return getattr(self, "held", self)
    def astype(self, unit, casting): return self.__class__.__mro__[1](self.held // 1_000)
def of(name, held, *bases):
    made = type(name, (*bases, generic), {"__module__": "numpy", "__str__": lambda self: self.shown})
    value = made(held) if bases else made()
    value.held = held
    return value
class longdouble(generic):
    __module__ = "numpy"
    def __float__(self): return 1.5
class NAType: __module__ = "pandas.api.typing"
class NaTType(datetime): __module__ = "pandas._libs.tslibs.nattype"
NAT = NaTType(1, 1, 1)
TIME = of("datetime64", 5)
TIME.shown = "2026-01-02T03:04:05.500000000"
MONTHS = of("timedelta64", 3)
MONTHS.shown = "3 months"
def no(*_, **__): raise TypeError
type(MONTHS).astype = no
nan = float("nan")
"""


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("of('int64', 7)", "7"),
        ("[of('int64', 7), of('bool', True), of('float32', 1.5)]", "[7,true,1.5]"),
        ("{'a': [of('float64', 2.5, float)]}", '{"a":[2.5]}'),
        ("of('float32', nan)", "null"),
        ("of('float64', nan, float)", "null"),
        ("{'a': [of('float64', nan, float), 1.0], 'b': of('float16', nan)}", '{"a":[null,1.0],"b":null}'),
        ("longdouble()", "1.5"),
        ("[NAType(), NAT]", "[null,null]"),
        ("NAT", "null"),
        ("of('datetime64', datetime(2026, 1, 2))", "2026-01-02T00:00:00"),
        ("of('datetime64', None)", "null"),
        ("TIME", "2026-01-02T03:04:05.5"),
        ("MONTHS", "3 months"),
        ("{of('int64', 1): 2, of('float32', 1.5): 3}", '{"1":2,"1.5":3}'),
        ("of('void', (1, b'a'))", '[1,"YQ=="]'),
    ],
)
def test_scalars_of_numpy_and_missing_values_of_pandas_have_a_form(expression: str, text: str) -> None:
    outcome = called(f"{BEFORE}{PACKAGES}def run(): return {expression}")
    assert outcome.get("text") == text, outcome


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("nan", "the result is nan, which JSON has no form for; return None, or text in its place."),
        ("[of('float64', float('inf'), float)]", "the result[0] is inf, which JSON has no form for"),
        ("[of('float32', float('inf'))]", "the result[0] is inf, which JSON has no form for"),
        ("of('complex64', 1j)", "the result is a complex, which JSON has no form for"),
        (
            "{of('float64', nan, float): 1}",
            "a key of the result is nan, which JSON has no form for; write str",
        ),
        ("{NAT: 1}", "the result has a NaTType as a key"),
        ("type('DataFrame', (), {})()", "return value.replace({float('nan'): None}).to_dict('records')"),
        ("type('Series', (), {'item': 1})()", "return value.tolist()"),
    ],
)
def test_other_values_of_these_packages_are_refused(expression: str, said: str) -> None:
    outcome = called(f"{BEFORE}{PACKAGES}def run(): return {expression}")
    assert outcome.get("code") == "RESULT_INVALID", outcome
    assert said in outcome["error"]


def test_a_plain_nan_of_a_module_with_pandas_names_what_pandas_can_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", sys)
    outcome = called("def run(): return [float('nan')]")
    assert outcome.get("code") == "RESULT_INVALID", outcome
    assert "For a table of pandas: value.replace({float('nan'): None})." in outcome["error"]


def test_the_value_of_a_result_holds_nothing_of_the_module() -> None:
    outcome = called(
        "class Own(dict): ...\nclass Text(str): ...\ndef run(): return Own({Text('a'): [Text('b')]})"
    )
    assert type(outcome["value"]) is dict
    assert [type(key) for key in outcome["value"]] == [str]
    assert type(outcome["value"]["a"][0]) is str


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("Point(1)", '{"x":1}'),
        ("[Point(Point(Unit.C))]", '[{"x":{"x":"c"}}]'),
        ("Unit.C", "c"),
        ("[Unit.C, Level.HIGH, Word.A, Flags.B]", '["c",2,"a",2]'),
        ("{Unit.C: date(2026, 1, 2), date(2026, 1, 2): 1}", '{"c":"2026-01-02","2026-01-02":1}'),
        ("date(2026, 1, 2)", "2026-01-02"),
        ("datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)", "2026-01-02T03:04:05+00:00"),
        ("time(3, 4, 5, 600)", "03:04:05.000600"),
        ("timedelta(0)", "PT0S"),
        ("timedelta(days=400, hours=2, microseconds=5)", "P400DT2H0.000005S"),
        ("-timedelta(seconds=90, milliseconds=500)", "-PT1M30.5S"),
        ("timedelta(days=1)", "P1D"),
        ("Decimal('1.50')", "1.50"),
        ("UUID(int=5)", "00000000-0000-0000-0000-000000000005"),
        ("Path('a/b')", "a/b"),
        ("b'\\xfb\\xff'", "+/8="),
        ("bytearray(b'hi')", "aGk="),
        ("{3, 1, 2}", "[1,2,3]"),
        ("{2, 1.5}", "[1.5,2]"),
        ("{'b', 1, None}", '["b",1,null]'),
        ("frozenset({Decimal('10'), Decimal('9')})", '["9","10"]'),
        ("{timedelta(hours=1), timedelta(minutes=90)}", '["PT1H","PT1H30M"]'),
        (
            "{datetime(2026, 1, 1), datetime(2025, 1, 1, tzinfo=timezone.utc)}",
            '["2025-01-01T00:00:00+00:00","2026-01-01T00:00:00"]',
        ),
        ("{Unit.F, Unit.C}", '["c","f"]'),
        ("{(2, 'a'), (1, 'b')}", '[[1,"b"],[2,"a"]]'),
        ("set()", "[]"),
        ("Pair(1, date(2026, 1, 2))", '[1,"2026-01-02"]'),
        ("[Own(at=date(2026, 1, 2), by={1})]", '[{"at":"2026-01-02","by":[1]}]'),
        ("Late(2026, 1, 2)", "2026-01-02"),
        ("{'a': {1: Unit.C}}", '{"a":{"1":"c"}}'),
    ],
)
def test_a_type_of_the_standard_library_has_its_json_form(expression: str, text: str) -> None:
    outcome = called(f"{BEFORE}{TYPES}def run(): return {expression}")
    assert outcome["outcome"] == "success", outcome
    assert outcome["text"] == text
    assert outcome.get("value", text) == (json.loads(text) if "value" in outcome else text)


TYPES = """
from datetime import date, time, timedelta, timezone
from enum import Enum, Flag, IntEnum, StrEnum
from typing import NamedTuple
from uuid import UUID
from pydantic import BaseModel
class Unit(Enum):
    C = "c"
    F = "f"
class Level(IntEnum):
    HIGH = 2
class Word(StrEnum):
    A = "a"
class Flags(Flag):
    B = 2
class Pair(NamedTuple):
    a: int
    b: date
class Own(BaseModel):
    at: date
    by: set[int]
class Late(date):
    def isoformat(self): raise SystemExit
"""


@pytest.mark.parametrize(
    ("fields", "code", "part"),
    [
        ("x = property(lambda self: 1 / 0)", "TOOL_RAISED", "ZeroDivisionError: division by zero"),
        ("x = property(lambda self: exit())", "TOOL_CRASHED", "exit()"),
        ("x = property(lambda self: bytearray(1 << 60))", "MEMORY_LIMIT", "more memory"),
        ("x = property(lambda self: {}['Bern'])", "TOOL_RAISED", "KeyError: 'Bern'"),
    ],
)
def test_a_field_that_fails_is_a_fault_of_the_tool(fields: str, code: str, part: str) -> None:
    source = f"class Sly:\n    __dataclass_fields__ = Point.__dataclass_fields__\n    {fields}\n"
    outcome = called(f"{BEFORE}{source}def run(): return [Sly()]")
    assert outcome["code"] == code, outcome
    assert part in outcome["error"]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.integers() | st.floats() | st.booleans(), inner, max_size=4)
        | st.frozensets(st.integers(), max_size=2)
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_any_value_is_json_that_reads_back_or_a_sentence(value: Any) -> None:
    try:
        result = result_of(value)
    except ResultError as invalid:
        said = str(invalid)
    else:
        said = "the result"
        str(result["text"]).encode()
        assert result.get("value") == (
            json.loads(str(result["text"]), parse_constant=pytest.fail) if ("value" in result) else None
        )
    assert "the result" in said


def test_a_returned_coroutine_causes_no_warning_that_names_a_file_of_the_runner() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome = called("async def inner():\n    return 1\ndef run():\n    return {'a': inner()}")
        gc.collect()
    assert outcome["error"].startswith("run(): the result['a'] is a coroutine, which JSON has no form for")
    assert [str(each.message) for each in warned] == []
