"""The cases of packages/contract/vectors, which Jest runs too."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[3] / "packages/contract/vectors"


@dataclass(frozen=True)
class Case:
    """What goes in and what must come out."""

    title: str
    given: Any
    expected: Any


def cases(file: str, key: str = "cases") -> list[Case]:
    """The cases of one file; one without a title is named by its input."""
    found = json.loads((VECTORS / f"{file}.json").read_text("utf-8"))[key]
    return [Case(case.get("title") or str(case["input"]), case["input"], case["expected"]) for case in found]
