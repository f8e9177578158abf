"""A tool that asks other services, as many tools do."""

import asyncio
import json
import urllib.request
from typing import Any


def echo(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Gives back what it gets.

    Args:
        items: Anything.
    """
    return {"items": items}


TOOL_SPECS = [
    {
        "name": "echo_web:echo",
        "description": "Gives back what it gets.",
        "handler": echo,
    }
]
