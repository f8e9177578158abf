"""A tool with the import that nearly every tool has."""

import json
from typing import Any


def echo(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Gives back what it gets.

    Args:
        items: Anything.
    """
    return {"items": items}


TOOL_SPECS = [
    {
        "name": "echo_json:echo",
        "description": "Gives back what it gets.",
        "handler": echo,
    }
]
