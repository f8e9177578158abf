"""Children that were made ahead of a call share only what they may share."""

from typing import Any

from support.live_runner import LiveRunner

DICE = """
import logging, random, threading, uuid
from concurrent.futures import ThreadPoolExecutor


def throw() -> dict:
    logging.getLogger("dice").warning("thrown")
    with ThreadPoolExecutor(2) as pool:
        others = list(pool.map(lambda _: threading.get_native_id(), range(2)))
    return {
        "numbers": [random.random(), random.Random().random(), str(uuid.uuid4())],
        "is_main": threading.main_thread().native_id == threading.get_native_id(),
        "others": threading.get_native_id() not in others,
    }


TOOL_SPECS = [{"name": "dice:throw", "description": "Throws.", "handler": throw}]
"""

COUNTED = """
import functools


def counted(handler):
    @functools.wraps(handler)
    def call(**arguments):
        return handler(**arguments)
    return call


@counted
def greet(name: str) -> str:
    return f"hello {name}"


TOOL_SPECS = [
    {"name": "greetings:greet", "description": "Greets.", "handler": greet},
    {"name": "greetings:bad", "description": 7, "handler": greet},
]
"""


def test_every_call_has_chance_of_its_own_and_threads_and_logging_that_work(runner: LiveRunner) -> None:
    answers: list[dict[str, Any]] = [runner.invoke(DICE, "dice:throw")["value"] for _ in range(12)]

    assert all(answer["is_main"] and answer["others"] for answer in answers)
    for drawn in zip(*(answer["numbers"] for answer in answers), strict=True):
        assert len(set(drawn)) == len(answers)


def test_the_first_call_and_the_later_ones_of_a_module_answer_alike(runner: LiveRunner) -> None:
    for _ in range(4):
        assert runner.invoke(COUNTED, "greetings:greet", {"name": "Ada"})["text"] == "hello Ada"
        assert "Did you mean 'name'" in runner.invoke(COUNTED, "greetings:greet", {"nam": "Ada"})["error"]
        refused = runner.invoke(COUNTED, "greetings:bad")
        assert (refused["code"], "Its spec is refused" in refused["error"]) == ("TOOL_NOT_FOUND", True)
