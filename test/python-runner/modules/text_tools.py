"""Handlers of every kind: async, keyword-only, a method, a partial, a callable object, one with **options."""

import asyncio
from functools import partial, wraps


async def shout(text: str, *, times: int = 1) -> str:
    """Write a text in capitals."""
    await asyncio.sleep(0)
    return " ".join([text.upper()] * times)


class Counter:
    """Counts what it is set to count."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def count(self, text: str) -> int:
        """Count the letter e in a text."""
        return text.count(self.letter)

    def __call__(self, text: str) -> dict:
        """Tell letter and count."""
        return {"letter": self.letter, "count": self.count(text)}


def cut(text: str, length: int) -> str:
    """Cut a text to a length."""
    return text[:length]


def logged(function):
    @wraps(function)
    def call(*args, **kwargs):
        print("called", function.__name__)
        return function(*args, **kwargs)

    return call


@logged
def reverse(text: str) -> str:
    """Turn a text round."""
    return text[::-1]


def options(text: str, **options) -> dict:
    """Return whatever was given."""
    return {"text": text, "options": options}


TOOL_SPECS = [
    {"name": "text_tools:shout", "handler": shout},
    {"name": "text_tools:count", "handler": Counter("e").count},
    {"name": "text_tools:tell", "handler": Counter("e")},
    {"name": "text_tools:short", "description": "Cut to 3.", "handler": partial(cut, length=3)},
    {"name": "text_tools:reverse", "handler": reverse},
    {"name": "text_tools:options", "handler": options},
]
