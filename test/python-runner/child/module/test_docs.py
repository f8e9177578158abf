"""The pages about modules say what is true: their modules work, and they leave out no fault."""

import re
from pathlib import Path
from typing import get_args

import pytest

from child.module.tools import checked
from toolrack_runner.child.module.spec import KEYS
from toolrack_runner.errors import ERROR_CODES
from toolrack_runner.wire.fault import FaultKind, NoteKind

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs/how-to/write-a-tool.md").read_text("utf-8")
FAULTS = (ROOT / "docs/reference/module-faults.md").read_text("utf-8")
LIBRARY = ROOT / "python-runner/toolrack_runner"
FAULT_KINDS: tuple[str, ...] = get_args(FaultKind)
NOTE_KINDS: tuple[str, ...] = get_args(NoteKind)
SNIPPETS = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", GUIDE, re.DOTALL)


def table(page: str, first_cell: str) -> list[str]:
    """The codes in the first column of the table with this heading."""
    rows = page.partition(f"| {first_cell} |")[2].split("\n\n")[0].rstrip().split("\n")[2:]
    return [re.sub(r"[|` ]", "", row.split("|")[1]) for row in rows]


def test_every_python_snippet_is_a_whole_module() -> None:
    assert len(SNIPPETS) == GUIDE.count("```python") >= 2


@pytest.mark.parametrize(("name", "source"), SNIPPETS, ids=[name for name, _ in SNIPPETS])
def test_a_module_of_the_guide_is_accepted_without_a_note_and_its_examples_match(
    name: str, source: str
) -> None:
    report = checked(source.encode(), name)
    assert report["ok"]
    assert [tool["faults"] + tool["notes"] for tool in report["tools"]] == [[] for _ in report["tools"]]
    assert {ran["matched"] for tool in report["tools"] for ran in tool["examples"]} == {True}


def test_the_reference_lists_each_kind_of_fault_and_no_other() -> None:
    assert sorted(table(FAULTS, "kind")) == sorted(FAULT_KINDS)


def test_the_reference_lists_each_kind_of_note_and_no_other() -> None:
    assert sorted(table(FAULTS, "note")) == sorted(NOTE_KINDS)


def test_the_guide_lists_each_key_of_a_spec_and_no_other() -> None:
    assert sorted(table(GUIDE, "key")) == sorted(KEYS)


def test_the_reference_lists_each_code_that_is_the_tools_own_doing() -> None:
    listed = set(table(FAULTS, "code of the call"))
    assert listed <= set(ERROR_CODES)
    assert listed >= {code for code, kind in ERROR_CODES.items() if kind.http_status == 200}


@pytest.mark.parametrize("kind", [*FAULT_KINDS, *NOTE_KINDS])
def test_each_kind_is_told_somewhere_in_the_code(kind: str) -> None:
    sources = [path.read_text("utf-8") for path in LIBRARY.rglob("*.py") if path.name != "fault.py"]
    assert any(f'"{kind}"' in source for source in sources)
