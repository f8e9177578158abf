"""A tool that works on tables."""

import json
from typing import Any

import pandas as pd  # type: ignore[import-untyped]


def echo(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Gives back what it gets.

    Args:
        items: Anything.
    """
    return {"items": items}


TOOL_SPECS = [
    {
        "name": "echo_pandas:echo",
        "description": "Gives back what it gets.",
        "handler": echo,
    }
]
