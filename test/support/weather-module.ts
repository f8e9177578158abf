/** A module with a tool for each way in which a call can end. */
export const WEATHER = `
import os
import sys
import time


def get(location: str, days: int = 1) -> str:
    """Says what the weather will be."""
    print("looking at", location)
    return f"{location}: cloudy for {days} day(s)"


def numbers(values: list) -> dict:
    """Gives numbers back, with their bounds."""
    return {"min": min(values), "max": max(values), "values": values}


def broken(location: str) -> str:
    """Raises."""
    raise ValueError("no weather there")


def crash() -> None:
    """Ends its process."""
    os.abort()


def hungry() -> int:
    """Takes all the memory."""
    return len(bytearray(2 << 30))


def not_a_number() -> float:
    """Returns what JSON has no form for."""
    return float("nan")


def large(characters: int) -> str:
    """Returns a long text."""
    return "x" * characters


def who(context: dict) -> dict:
    """Gives its context back, and its process."""
    return {"context": context, "pid": os.getpid()}


def slow(seconds: float) -> str:
    """Takes its time."""
    time.sleep(seconds)
    return "done"


def late() -> str:
    """Takes more time than it has."""
    time.sleep(1_000)
    return "done"


def loud(lines: int) -> str:
    """Prints."""
    for number in range(lines):
        print("line", number)
    print("a complaint", file=sys.stderr)
    return "said"


TOOL_SPECS = [
    {"name": f"weather:{handler.__name__}", "handler": handler}
    for handler in (get, numbers, broken, crash, hungry, not_a_number, large, who, slow, loud)
] + [{"name": "weather:late", "handler": late, "timeoutSeconds": 0.25}]
`
