"""The tool of `echo_json` with types: its arguments become dataclasses and enums, and its result is written from them."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Tag(Enum):
    RED = "red"
    ROUND = "round"


@dataclass
class Item:
    id: int
    name: str
    tags: list[Tag]
    score: float


def echo(items: list[Item]) -> dict[str, Any]:
    """Gives back what it gets.

    Args:
        items: Anything.
    """
    assert items[0].tags[0] is Tag.RED, json.dumps(str(items[0]))
    return {"items": items}


TOOL_SPECS = [
    {
        "name": "echo_converted:echo",
        "description": "Gives back what it gets.",
        "handler": echo,
    }
]
