"""The routes with packages: a check locks and installs them, and a call names the environment of its lock."""

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from support.live_runner import LiveRunner, invocation, live_runner
from support.package_index import PackageIndex
from support.until import until
from support.wheels import wheel
from toolrack_runner.server.packages.tree import remove_tree

TOOL = """
def run(): return 'done'
TOOL_SPECS = [{'name': 'words:run', 'description': 'Runs.', 'handler': run}]
"""
EVENTS = {"Accept": "application/x-ndjson"}


def module(*dependencies: str) -> str:
    """A module with a tool and these dependencies."""
    return f"# /// script\n# dependencies = {json.dumps(dependencies)}\n# ///\n{TOOL}"


@pytest.fixture(scope="module")
def index() -> Iterator[PackageIndex]:
    """An index with some packages."""
    wheels = (wheel("alpha", requires=("beta",)), wheel("beta"), wheel("hidden", files={"json.py": ""}))
    others = (wheel(name) for name in ("single", "owned", "slow"))
    with PackageIndex(*wheels, *others).serving() as index:
        yield index


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The folder of the packages."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)
        yield Path(name) / "packages"
        remove_tree(Path(name) / "packages")


@pytest.fixture(scope="module")
def packages_runner(index: PackageIndex, folder: Path) -> Iterator[LiveRunner]:
    """A runner that installs from the index."""
    with live_runner(environment=variables(index, folder)) as live:
        yield live


def variables(index: PackageIndex, folder: Path) -> dict[str, str]:
    """The settings of a runner that installs from the index."""
    return {"TOOLRACK_PACKAGES_DIR": str(folder), "TOOLRACK_PACKAGES_INDEX": index.url}


def events_of(runner: LiveRunner, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a check."""
    answer = runner.client.post("/check", json=body, headers=EVENTS)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_check_reports_the_lock_of_the_packages(packages_runner: LiveRunner, folder: Path) -> None:
    report = packages_runner.check("words", module("Alpha>=1", "hidden"))
    assert (report["ok"], report["faults"]) == (True, [])
    lock = report["packages"]
    assert lock["requirements"] == ["alpha>=1", "hidden"]
    assert [each["name"] for each in lock["packages"]] == ["alpha", "beta", "hidden"]
    assert [note["kind"] for note in report["notes"]] == ["package_hidden"]
    assert os.listdir(folder / "environments") == [lock["digest"].removeprefix("sha256:")]


def test_a_module_without_packages_has_no_lock(packages_runner: LiveRunner) -> None:
    assert "packages" not in packages_runner.check("words", TOOL)
    assert "packages" not in packages_runner.check("words", module())


def test_a_kept_lock_is_used_again_and_one_of_another_head_is_not(packages_runner: LiveRunner) -> None:
    kept = packages_runner.check("words", module("beta"))["packages"]
    assert packages_runner.check("words", module("beta"), lock=kept)["packages"] == kept
    other = packages_runner.check("words", module("alpha"), lock=kept)["packages"]
    assert other["requirements"] == ["alpha"]


@pytest.mark.parametrize(
    "more", [{"digest": "sha256:" + "0" * 64}, {"packages": [{}]}, {"requirements": "a"}]
)
def test_a_lock_that_no_runner_has_made_is_refused(packages_runner: LiveRunner, more: dict[str, Any]) -> None:
    kept = packages_runner.check("words", module("beta"))["packages"]
    body = {"name": "words", "source": module("beta"), "lock": kept | more}
    answer = packages_runner.client.post("/check", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("lock cannot be used: ")


def test_a_fault_of_the_head_is_a_fault_of_the_module(packages_runner: LiveRunner) -> None:
    report = packages_runner.check("words", module("absent @ git+https://host.example/x"))
    (fault,) = report["faults"]
    assert (report["ok"], report["tools"], report["line"]) == (False, [], 2)
    assert (fault["code"], fault["kind"], fault["line"]) == ("MODULE_INVALID", "requirement_invalid", 2)


def test_refused_packages_are_a_fault_of_the_module_with_their_own_code(packages_runner: LiveRunner) -> None:
    (fault,) = packages_runner.check("words", module("absent"))["faults"]
    assert (fault["code"], fault["kind"]) == ("PACKAGES_REFUSED", "packages_missing")
    assert fault["message"].startswith("words.py, line 2: the package absent was not found in the index.")


def test_the_progress_of_a_check_is_a_stream_that_ends_with_the_report(packages_runner: LiveRunner) -> None:
    body = {"name": "words", "source": module("beta", "hidden")}
    *progress, report = events_of(packages_runner, body)
    assert {event["event"] for event in progress} == {"progress"}
    assert progress[-1]["text"] == "checking the module"
    assert report["event"] == "report"
    del report["event"]
    plain = packages_runner.check("words", body["source"])
    assert {key: plain[key] for key in ("ok", "packages", "sha256", "tools", "notes")} == {
        key: report[key] for key in ("ok", "packages", "sha256", "tools", "notes")
    }
    assert plain.keys() == report.keys()


def test_a_check_without_packages_is_a_stream_with_the_report_only(packages_runner: LiveRunner) -> None:
    (report,) = events_of(packages_runner, {"name": "words", "source": TOOL})
    assert (report["event"], report["ok"]) == ("report", True)


def test_an_index_that_refuses_the_runner_is_an_error_of_the_route_and_the_last_event(
    packages_runner: LiveRunner, index: PackageIndex
) -> None:
    body = {"name": "words", "source": module("gamma")}
    index.password = "secret"
    try:
        answer = packages_runner.client.post("/check", json=body)
        *_, last = events_of(packages_runner, body)
    finally:
        index.password = None
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]) == (503, [{"reason": "PACKAGES_UNAVAILABLE"}])
    assert last == {
        "event": "error",
        "code": "PACKAGES_UNAVAILABLE",
        "message": error["message"],
        "status": 503,
    }


def test_a_call_names_its_environment_and_sends_its_lock_if_it_is_missing(
    packages_runner: LiveRunner, index: PackageIndex, folder: Path
) -> None:
    source = module("single")
    lock = packages_runner.check("words", source)["packages"]
    digest = lock["digest"]
    assert packages_runner.invoke(source, "words:run", environment=digest)["text"] == "done"
    remove_tree(folder / "environments" / digest.removeprefix("sha256:"))
    requests = len(index.requests)
    with live_runner(environment=variables(index, folder)) as again:
        body = invocation(source, "words:run", environment=digest)
        unknown = again.client.post("/invoke", json=body)
        assert unknown.status_code == 404
        assert unknown.json()["error"]["details"] == [{"reason": "MODULE_UNKNOWN"}]
        assert again.invoke(source, "words:run", environment=digest, lock=lock)["text"] == "done"
        assert again.invoke(source, "words:run", environment=digest)["text"] == "done"
    # uv's cache has the wheel, so the environment is built without the index.
    assert len(index.requests) == requests


def test_a_call_whose_packages_cannot_be_had_runs_nothing(packages_runner: LiveRunner) -> None:
    source = module("beta")
    lock = packages_runner.check("words", source)["packages"]
    package = lock["packages"][0] | {"sha256": "0" * 64}
    normalised = json.dumps(
        [{key: package[key] for key in sorted(("file", "name", "sha256", "version"))}], separators=(",", ":")
    )
    digest = f"sha256:{hashlib.sha256(normalised.encode()).hexdigest()}"
    wrong = lock | {"packages": [package], "digest": digest}
    body = invocation(source, "words:run", environment=digest, lock=wrong)
    answer = packages_runner.client.post("/invoke", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]) == (503, [{"reason": "PACKAGES_UNAVAILABLE"}])
    assert error["message"].startswith("nothing was run, because the packages are missing: ")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"TOOLRACK_PACKAGES": "off"}, "The operator turns them on with TOOLRACK_PACKAGES=on"),
        ({"TOOLRACK_PACKAGES_DENY": "Beta"}, "The operator can change TOOLRACK_PACKAGES_DENY"),
    ],
)
def test_what_the_operator_has_taken_away_is_a_fault_of_the_module_and_of_a_call_that_is_not_to_be_repeated(
    packages_runner: LiveRunner, tmp_path: Path, folder: Path, setting: dict[str, str], sentence: str
) -> None:
    source = module("beta")
    lock = packages_runner.check("words", source)["packages"]
    is_off = "TOOLRACK_PACKAGES" in setting
    place = tmp_path / "off" if is_off else folder
    with live_runner(environment={"TOOLRACK_PACKAGES_DIR": str(place), **setting}) as live:
        (fault,) = live.check("words", source)["faults"]
        kind = "packages_off" if is_off else "packages_denied"
        assert (fault["code"], fault["kind"]) == ("PACKAGES_REFUSED", kind)
        assert sentence in fault["message"]
        assert live.check("words", module())["ok"] is True
        for more in ({}, {"lock": lock}):
            body = invocation(source, "words:run", environment=lock["digest"], **more)
            answer = live.client.post("/invoke", json=body)
            error = answer.json()["error"]
            assert (answer.status_code, error["details"]) == (422, [{"reason": "PACKAGES_REFUSED"}])
            assert "Retry-After" not in answer.headers
            assert error["message"].startswith("nothing was run: ")
            assert sentence in error["message"]
    assert not (tmp_path / "off").exists()


@pytest.mark.parametrize(
    "fields",
    [{"environment": "sha256:1"}, {"environment": 1}, {"lock": {}}, {"environment": "sha256:" + "0" * 64}],
)
def test_an_environment_that_does_not_fit_the_lock_is_refused(
    packages_runner: LiveRunner, fields: dict[str, Any]
) -> None:
    source = module("beta")
    lock = packages_runner.check("words", source)["packages"]
    body = invocation(source, "words:run", **({"lock": lock} | fields))
    answer = packages_runner.client.post("/invoke", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"] == [{"reason": "BODY_INVALID"}]


def test_an_installation_ends_when_its_caller_leaves(
    packages_runner: LiveRunner, index: PackageIndex, folder: Path
) -> None:
    body = {"name": "words", "source": module("slow")}
    index.downloading.clear()
    gate = index.gate = threading.Event()
    try:
        with packages_runner.client.stream("POST", "/check", json=body, headers=EVENTS):
            assert index.downloading.wait(60)
            assert list((folder / "work").iterdir())
        until(lambda: list((folder / "work").iterdir()) == [], "the end of the installation")
        until(packages_runner.is_idle, "the end of the check")
    finally:
        gate.set()
        index.gate = None
    assert packages_runner.check("words", module("slow"))["ok"] is True


def test_the_user_of_an_environment_is_the_tenant_of_the_check_and_of_the_call(
    packages_runner: LiveRunner, folder: Path
) -> None:
    source = module("owned")
    digest = packages_runner.check("words", source, tenant="eve")["packages"]["digest"]
    owners = folder / f"manifests/{digest.removeprefix('sha256:')}.owners"
    assert json.loads(owners.read_text()) == ["eve"]
    assert packages_runner.invoke(source, "words:run", environment=digest, tenant="bob")["text"] == "done"
    assert json.loads(owners.read_text()) == ["bob", "eve"]


def test_a_module_imports_its_packages_in_the_check_and_in_each_call(packages_runner: LiveRunner) -> None:
    source = """# /// script
# dependencies = ["alpha"]
# ///
import alpha, beta
def run(): return f"{alpha.VERSION} {beta.VERSION} {alpha.__file__}"
TOOL_SPECS = [{'name': 'words:run', 'description': 'Runs.', 'handler': run, 'examples': [{'arguments': {}}]}]
"""
    report = packages_runner.check("words", source)
    assert (report["ok"], report["missingImports"]) == (True, [])
    (example,) = report["tools"][0]["examples"]
    assert example["outcome"] == "success"
    for _ in range(3):
        outcome = packages_runner.invoke(source, "words:run", environment=report["packages"]["digest"])
        assert outcome["text"] == "1.0 1.0 /packages/alpha/__init__.py"
    without = packages_runner.invoke(source, "words:run")
    assert without["code"] == "MODULE_BROKEN"
