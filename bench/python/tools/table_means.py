# /// script
# dependencies = ["pandas==3.1.1"]
# ///
"""A tool that calculates with a table. `uv run --script` runs the same file."""

import io
import json
import sys
from typing import Any

import pandas as pd  # type: ignore[import-untyped]


def means(text: str) -> dict[str, Any]:
    """Calculate the mean of each column of numbers.

    Args:
        text: A table as CSV.
    """
    table = pd.read_csv(io.StringIO(text))
    return {name: float(value) for name, value in table.mean(numeric_only=True).items()}


def origin() -> str:
    """Tell where pandas was imported from."""
    return str(pd.__file__)


TOOL_SPECS = [
    {"name": "table_means:means", "handler": means},
    {"name": "table_means:origin", "handler": origin},
]

if __name__ == "__main__":
    sys.stdout.write(json.dumps(means(sys.argv[1])))
