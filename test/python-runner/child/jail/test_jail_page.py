"""The README of the jail has each layer and each probe of the code, and no other."""

import re
from pathlib import Path

from toolrack_runner.child.level.attempts import ATTEMPTS
from toolrack_runner.server.level.measurement import LAYERS
from toolrack_runner.server.level.probe import Probe
from toolrack_runner.server.level.probes import PROBES

README = (
    Path(__file__).parents[4] / "python-runner" / "toolrack_runner" / "child" / "jail" / "README.md"
).read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading."""
    _, section = README.split(f"\n## {heading}\n")
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table
    lines = table[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def row(probe: Probe) -> list[str]:
    holders = [
        *probe.both,
        *(f"{layer} (root)" for layer in probe.root),
        *(f"{layer} (user)" for layer in probe.user),
    ]
    docstring = " ".join((ATTEMPTS[probe.name].__doc__ or "").split())
    return [f"`{probe.name}`", docstring.split(". ")[0].rstrip("."), probe.level, ", ".join(holders)]


def test_the_table_of_attacks_is_that_of_the_code() -> None:
    assert rows("How the level is measured") == [row(probe) for probe in PROBES]


def test_the_table_of_layers_has_each_layer_that_health_shows() -> None:
    named = {name for name, *_ in rows("The layers")}
    assert named - set(LAYERS) == {"processes", "server process"}
    assert set(LAYERS) <= named
