"""Children do not wait for a module that was deleted or that is no longer called."""

import hashlib
import shutil
from pathlib import Path

import pytest

from support.live_runner import ROOT, LiveRunner, live_runner
from support.until import until

HELLO = """
def hello() -> str:
    return "hello"
TOOL_SPECS = [{"name": "hello:hello", "description": "Greets.", "handler": hello}]
"""
OTHER = HELLO + "# Another source.\n"
DIGEST = hashlib.sha256(HELLO.encode()).hexdigest()


def waiting(live: LiveRunner) -> int:
    """Children that wait for a call of their module."""
    count: int = live.health()["children"]["waiting"]
    return count


def call(live: LiveRunner, tenant: str, source: str = HELLO) -> None:
    """The first call with a key. After it two children wait for the next call."""
    before = waiting(live)
    assert live.invoke(source, "hello:hello", tenant=tenant)["text"] == "hello"
    until(lambda: waiting(live) == before + 2, "children that wait")


def test_one_users_children_end_and_nobody_elses() -> None:
    with live_runner() as live:
        call(live, "ann")
        call(live, "ann", OTHER)
        call(live, "bob")
        body = {"module": "hello", "sha256": DIGEST}
        assert live.client.post("/forget", json=body | {"tenant": "eve"}).status_code == 204
        assert waiting(live) == 6
        assert live.client.post("/forget", json=body | {"tenant": "ann"}).status_code == 204
        assert waiting(live) == 4
        call(live, "ann")
        assert live.client.post("/forget", json=body).status_code == 204
        assert waiting(live) == 2
        until(lambda: live.health()["children"]["alive"] <= 4, "the ends of all but those, and the blanks")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"module": "hello"},
        {"module": "hello", "sha256": "A" * 64},
        {"module": "hello", "sha256": DIGEST, "tenant": ""},
        {"module": "hello", "sha256": DIGEST, "tenant": 7},
        {"module": "hello", "sha256": DIGEST, "all": True},
    ],
)
def test_what_names_no_module_is_refused(runner: LiveRunner, body: dict[str, object]) -> None:
    assert runner.client.post("/forget", json=body).status_code == 400


def test_what_is_not_called_for_a_while_ends_by_itself(tmp_path: Path) -> None:
    """In a copy of the runner whose while is short."""
    copy = tmp_path / "python-runner"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    pool = copy / "toolrack_runner/server/pool/pool.py"
    text = pool.read_text()
    for name, usual, short in (("IDLE_SECONDS", "600.0", "5.0"), ("IDLE_CHECK_SECONDS", "60.0", "0.1")):
        assert f"\n{name} = {usual}\n" in text
        text = text.replace(f"\n{name} = {usual}\n", f"\n{name} = {short}\n")
    pool.write_text(text)
    with live_runner(root=copy) as live:
        call(live, "ann")
        until(lambda: waiting(live) == 0, "the end of what waits")
