"""What a handler returns is text or JSON, or a fault that names the place and the cure."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from module.tools import called
from toolrack_runner.module.result import ResultError, result_of


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("{1, 2}", "the result is a set, which JSON has no form for; return sorted(value)"),
        (
            "{'a': [0, {'when': datetime.now()}]}",
            "the result['a'][1]['when'] is a datetime, which JSON has no form for; return value.isoformat()",
        ),
        (
            "[datetime.now().date()]",
            "the result[0] is a date, which JSON has no form for; return value.isoformat()",
        ),
        (
            "{'x': float('nan')}",
            "the result['x'] is nan, which JSON has no form for; return None, or text in its place",
        ),
        ("[-float('inf')]", "the result[0] is -inf, which"),
        ("Sub(float('nan'))", "the result is nan"),
        ("{float('nan'): 1}", "a key of the result is nan"),
        ("{(1, 2): 3}", "the result has a tuple as a key, but keys are text in JSON; write str(key)"),
        ("{b'a': 3}", "the result has a bytes as a key"),
        (
            "b'abc'",
            "the result is a bytes, which JSON has no form for; return value.decode(), or base64 text",
        ),
        (
            "Decimal('1.5')",
            "the result is a Decimal, which JSON has no form for; return str(value), or float(value)",
        ),
        ("Path('a')", "which JSON has no form for; return str(value)"),
        ("Point(1)", "the result is a Point, which JSON has no form for; return dataclasses.asdict(value)"),
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
        ("[shared, shared, {1}]", "the result[2] is a set"),
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
@dataclass
class Point:
    x: int
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


def test_the_value_of_a_result_holds_nothing_of_the_module() -> None:
    outcome = called(
        "class Own(dict): ...\nclass Text(str): ...\ndef run(): return Own({Text('a'): [Text('b')]})"
    )
    assert type(outcome["value"]) is dict
    assert [type(key) for key in outcome["value"]] == [str]
    assert type(outcome["value"]["a"][0]) is str


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
