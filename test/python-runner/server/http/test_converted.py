"""Arguments that are converted in real children: what a validator does meets the limits of its call."""

from support.live_runner import LiveRunner
from support.until import until

DATES = """
import sys, time
from dataclasses import dataclass
from datetime import date
from enum import Enum

IS_PRELOADED = "pydantic.type_adapter" in sys.modules


class Unit(Enum):
    C = "c"


@dataclass
class Options:
    do: str

    def __post_init__(self):
        if self.do == "print":
            print("x" * 1_000_000, end="")
        if self.do == "hang":
            while True: time.sleep(0.01)
        if self.do == "end":
            import os
            os._exit(3)
        if self.do == "forget":
            sys.modules.clear()
            print("forgotten", end="")
            raise ValueError("y" * 1_000_000)


def days(since: date, unit: Unit, options: Options | None = None) -> dict:
    return {"on": since.replace(year=2027), "is": unit is Unit.C, "is_preloaded": IS_PRELOADED}


def plain(text: str) -> bool:
    return "pydantic" in sys.modules


TOOL_SPECS = [{"name": f"dates:{each.__name__}", "description": "d", "handler": each} for each in (days, plain)]
"""
PLAIN = """
import sys
def plain(text: str) -> bool:
    return "pydantic" in sys.modules
TOOL_SPECS = [{"name": "simple:plain", "description": "d", "handler": plain}]
"""
GOOD = {"since": "2026-01-02", "unit": "c"}


def test_the_first_call_and_the_later_ones_convert_alike_and_later_children_have_pydantic(
    runner: LiveRunner,
) -> None:
    def is_preloaded() -> bool:
        value = runner.invoke(DATES, "dates:days", GOOD)["value"]
        assert (value["on"], value["is"]) == ("2027-01-02", True)
        return bool(value["is_preloaded"])

    until(is_preloaded, "a child with pydantic")
    refused = runner.invoke(DATES, "dates:days", GOOD | {"unit": "k"})
    assert refused["error"] == "days() can't use its argument 'unit': it should be 'c'."
    assert refused["code"] == "ARGUMENTS_INVALID"


def test_a_module_of_plain_types_never_imports_pydantic(runner: LiveRunner) -> None:
    assert [runner.invoke(PLAIN, "simple:plain", {"text": "a"})["value"] for _ in range(4)] == [False] * 4


def test_a_validator_that_prints_hangs_or_ends_meets_the_limits_of_the_call(runner: LiveRunner) -> None:
    for _ in range(2):  # Cold, and from a child that waited.
        printed = runner.invoke(DATES, "dates:days", GOOD | {"options": {"do": "print"}})
        assert printed["outcome"] == "success"
        assert printed["log"]["truncated"]
        assert len(printed["log"]["text"]) < 100_000
        hung = runner.invoke(DATES, "dates:days", GOOD | {"options": {"do": "hang"}}, deadlineMs=1_000)
        assert hung["code"] == "DEADLINE_EXCEEDED"
        ended = runner.invoke(DATES, "dates:days", GOOD | {"options": {"do": "end"}})
        assert ended["code"] == "TOOL_CRASHED"
        broken = runner.invoke(DATES, "dates:days", GOOD | {"options": {"do": "forget"}})
        assert broken["outcome"] == "failure"
        assert broken["log"]["text"] == "forgotten"
        assert len(broken["error"]) < 2_000
    assert runner.invoke(DATES, "dates:days", GOOD)["outcome"] == "success"


def test_a_type_that_hangs_while_its_converter_is_built_costs_only_its_own_calls(runner: LiveRunner) -> None:
    source = """
class Slow:
    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        while True: pass
def run(a: Slow): return 1
def other(a: str): return a
TOOL_SPECS = [{"name": f"slow:{each.__name__}", "description": "d", "handler": each} for each in (run, other)]
"""
    assert runner.invoke(source, "slow:run", {"a": 1}, deadlineMs=1_000)["code"] == "DEADLINE_EXCEEDED"
    assert runner.invoke(PLAIN, "simple:plain", {"text": "a"})["outcome"] == "success"
    assert runner.invoke(source, "slow:other", {"a": "x"})["text"] == "x"
