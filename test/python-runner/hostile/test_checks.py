"""A check reads before it runs, and what runs is jailed: nothing of an upload has an effect outside."""

import ast
import json
from pathlib import Path

import pytest

from hostile.uploads import HONEST, PREAMBLE, upload
from support.live_runner import LiveRunner

#: What each wants to do at the import.
HARM = "__import__('os').close(__import__('os').open({path!r}, 0o101))"
AT_THE_IMPORT = {
    "a decorator": "@(lambda function: ({harm}, function)[1])\ndef f(): pass",
    "a default argument": "def f(value={harm}): pass",
    "a class body": "class C:\n    {harm}",
    "__init_subclass__": "class B:\n    def __init_subclass__(cls): {harm}\nclass C(B): pass",
    "a metaclass": "class M(type):\n    def __new__(m, *a): {harm}; return type.__new__(m, *a)\nclass C(metaclass=M): pass",
    "an annotation": "x: {harm} = 1",
    "a guard of a pattern": "match 1:\n    case int(real=r) if {harm}: pass",
    "a comprehension": "[{harm} for _ in range(1)]",
    "a spec": "class D(dict):\n    def __getitem__(self, name): {harm}\nTOOL_SPECS = [D()]",
}


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everyone may write, if they can get there."""
    folder = tmp_path_factory.mktemp("open")
    for each in (folder, *folder.parents):
        if each.name.startswith("pytest"):
            each.chmod(0o777)
    return folder


@pytest.mark.parametrize("code", AT_THE_IMPORT.values(), ids=AT_THE_IMPORT)
def test_an_import_has_no_effect_outside(any_runner: LiveRunner, open_folder: Path, code: str) -> None:
    target = open_folder / "X"
    source = upload(code.replace("{harm}", HARM.format(path=str(target))))
    ast.parse(source)
    report = any_runner.check("hostile", source)
    assert not target.exists()
    assert report["isolation"] == "L3"
    any_runner.invoke(source, "hostile:hello")
    assert not target.exists()


def test_what_can_not_be_read_is_not_run(any_runner: LiveRunner) -> None:
    """The first stage answers for a module whose code would answer otherwise."""
    source = PREAMBLE + "say({'stage': {'stage': 'loaded', 'ok': True}})\nprint('ran')\n("
    report = any_runner.check("hostile", source)
    assert not report["ok"]
    assert report["log"]["text"] == ""
    assert "hostile.py" in report["faults"][0]["message"]


FORGED = {"ok": True, "faults": [], "notes": [], "imports": [], "missingImports": []}
TOOL: dict[str, object] = {
    "name": "other:tool",
    "line": None,
    "accepted": True,
    "faults": [],
    "notes": [],
    "examples": [],
    "description": "Not mine.",
    "parameters": {},
    "derived": [],
    "annotations": None,
    "timeoutSeconds": None,
    "secrets": [],
    "network": [],
}


@pytest.mark.parametrize(
    "name", ["other:tool", "constructor", "hostile:a\nb", "hostile:" + "x" * 300, "HOSTILE:x"]
)
def test_a_report_speaks_for_its_own_module_alone(any_runner: LiveRunner, name: str) -> None:
    stage = FORGED | {"stage": "loaded", "tools": [TOOL | {"name": name}]}
    report = any_runner.check(
        "hostile", upload(f"say({{'stage': json.loads({json.dumps(stage)!r})}})\ntime.sleep(9)")
    )
    assert not report["ok"]
    assert report["tools"] == []
    assert "Not mine" not in json.dumps(report["tools"])


@pytest.mark.parametrize("network", [["10.0.0.1"], ["[::1]:80"], ["http://a.example"], ["a.example"] * 21])
def test_a_report_names_no_host_that_a_spec_may_not(any_runner: LiveRunner, network: list[str]) -> None:
    def report_on(hosts: list[str]) -> dict[str, object]:
        stage = FORGED | {"stage": "loaded", "tools": [TOOL | {"name": "hostile:tool", "network": hosts}]}
        says = f"say({{'stage': json.loads({json.dumps(stage)!r})}})\nsay({{'done': True}})\ntime.sleep(9)"
        return any_runner.check("hostile", upload(says))

    assert report_on(["a.example"])["ok"]
    refused = report_on(network)
    assert (refused["ok"], refused["tools"]) == (False, [])


@pytest.mark.parametrize(
    "says",
    [
        "say({'stage': {'stage': 'running', 'tool': {'x': []}, 'example': [[1]]}}); os._exit(1)",
        "[say({'stage': {'stage': 'running', 'tool': 't', 'example': 1}}) for _ in range(100_000)]; time.sleep(9)",
        "[say({'stage': {'stage': 'running', 'x': 'x' * 10_000_000}}) for _ in range(50)]; time.sleep(9)",
        "say({'stage': {'stage': 'later'}}); time.sleep(9)",
        "say({'stage': None, 'done': True}); time.sleep(9)",
        "say({'failed': 'the runner'}); time.sleep(9)",
    ],
)
def test_a_forged_stage_ends_the_check(any_runner: LiveRunner, says: str) -> None:
    answer = any_runner.client.post(
        "/check", json={"name": "hostile", "source": upload(says), "deadlineMs": 30_000}
    )
    assert answer.status_code == 200
    assert not answer.json()["ok"]
    assert answer.json()["usage"]["wallMs"] < 9_000


@pytest.mark.parametrize("source", ["x = '\ud800'", "\ud800", "\x00", "﻿﻿", "# -*- coding: utf-7 -*-\n+AG8-"])
def test_a_source_that_is_no_text_is_refused(any_runner: LiveRunner, source: str) -> None:
    body = json.dumps({"name": "hostile", "source": source})
    answer = any_runner.client.post("/check", content=body.encode())
    assert answer.status_code in {200, 400}
    assert not answer.json().get("ok")
    report = any_runner.check("hostile", HONEST)
    assert report["ok"], report


@pytest.mark.parametrize(
    "name", ["os", "a.b", "../x", "a\nb", "x\x1b[2J", ".*", "(", "toolrack_runner", "__main__"]
)
def test_a_module_of_another_s_name_is_refused(any_runner: LiveRunner, name: str) -> None:
    report = any_runner.check(name, HONEST)
    assert not report["ok"]
    answer = any_runner.invoke(HONEST, f"{name}:hello"[:128], module=name)
    assert answer["outcome"] == "failure"
