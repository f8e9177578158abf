"""Installed packages that attack: they reach nothing outside of the jail, and nothing of them runs before the module."""

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.environments import LivePool, live_pool
from support.quick import QUICK

MODULES = Path(__file__).parent / "modules"
CASES = {
    "all layers": (),
    "without namespaces": ("--without=namespaces",),
    "without landlock": ("--without=landlock",),
    # Then the other defences have to hold alone what they are meant to hold.
    "without seccomp": ("--without=seccomp",),
}
#: The attacks that only seccomp prevents. Without seccomp, the program in the environment may run, but not with more rights.
ONLY_SECCOMP = {
    "all layers": set[str](),
    "without landlock": set[str](),
    "without namespaces": set[str](),
    "without seccomp": {"by_extension"},
}
USERS = ["as_started", "as_nobody"]
#: The cases and users for what depends only on the place of the packages, which is another one without namespaces.
PLACES = (list(CASES)[:2], USERS[:1]) if QUICK else (list(CASES), USERS)
ATTACKER = """
import evil
def run(aim: dict) -> dict:
    return evil.attack(aim)
TOOL_SPECS = [{"name": "attacker:run", "description": "Attacks.", "handler": run}]
"""


@cache
def native() -> bytes | None:
    """The compiled extension module. None if this machine cannot compile it: NOT RUN, and a failure if CI is true."""
    compiler = shutil.which("gcc")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if compiler is None or not header.exists():
        missing = "gcc" if compiler is None else str(header)
        said = f"Hostile extension modules were NOT RUN: there is no {missing}."
        if path := os.environ.get("TOOLRACK_TEST_MISSING"):
            with open(path, "a") as file:
                file.write(f"{said}\n")
        sys.stderr.write(f"{said}\n")
        assert os.environ.get("CI") != "true", said
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "evil_native.so"
        source = str(MODULES / "evil_native.c")
        command = [compiler, "-shared", "-fPIC", f"-I{header.parent}", source, "-o", str(library)]
        subprocess.run(command, check=True, timeout=120)
        return library.read_bytes()


@pytest.fixture(scope="module", params=USERS)
def as_nobody(request: pytest.FixtureRequest) -> bool:
    if request.param == "as_nobody" and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    return bool(request.param == "as_nobody")


@pytest.fixture(scope="module", params=CASES)
def pool(request: pytest.FixtureRequest, as_nobody: bool) -> Iterator[tuple[str, LivePool]]:
    with live_pool(*CASES[request.param], as_nobody=as_nobody) as live:
        yield request.param, live


def install_evil(pool: LivePool) -> dict[str, Any]:
    files: dict[str, str | bytes] = {
        "evil.py": (MODULES / "evil.py").read_text(),
        "victim.py": "VALUE = 1",
        "program": "#!/bin/sh\ntrue\n",
    }
    if (library := native()) is not None:
        files["evil_native.so"] = library
    return pool.environments.install(files, evil="1.0")


def test_a_package_reaches_no_other_environment_and_changes_nothing(pool: tuple[str, LivePool]) -> None:
    case, live = pool
    own = install_evil(live)
    canary = "canary-of-another-environment"
    other = live.environments.install({"secret.txt": canary, "other.py": ""}, other="1.0")
    folder = live.environments.folder / own["folder"]
    (folder / "program").chmod(0o755)
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(live.environments.folder / other["folder"])
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        aim = {
            "all": str(live.environments.folder),
            "other": other["folder"],
            "port": listener.getsockname()[1],
            "native": "evil_native.so" in os.listdir(folder),
        }
        answered = live.call(ATTACKER, "attacker:run", own, aim=aim)
        with pytest.raises(BlockingIOError):
            listener.accept()
    if case == "without seccomp" and answered["value"] is None:
        # A program that may be started without seccomp has replaced the child.
        assert answered["code"] in {"TOOL_CRASHED", "RESULT_INVALID"}, answered
        return
    saw = answered["value"]
    assert saw is not None, answered
    through = {name: result for name, result in saw.items() if str(result).startswith("through")}
    assert set(through) <= ONLY_SECCOMP[case], through
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert canary not in str(answered)


#: Names that packages may claim. Each prints and stops the process when it is executed.
LOOKALIKES = (
    *(
        "json/__init__.py",
        "encodings/__init__.py",
        "site.py",
        "sitecustomize.py",
        "usercustomize.py",
        "typing.py",
    ),
    *("toolrack_runner/__init__.py", "toolrack_runner/wire/frames.py"),
)
#: Names of our own libraries. A module with this environment gets them, but not before the module itself.
LIBRARIES = (
    *("pydantic/__init__.py", "pydantic/json_schema.py", "pydantic_core/__init__.py", "typing_extensions.py"),
    *("annotated_types/__init__.py", "typing_inspection/__init__.py", "docstring_parser/__init__.py"),
    *("jsonschema_rs/__init__.py", "orjson/__init__.py"),
)
RAN = "print('THE PACKAGE RAN', __name__, flush=True)\n"
PTH = "import sys; print('THE PTH RAN', flush=True)\n"
HONEST = """
import json, encodings, site, sys
def run(a: int) -> list:
    return [a, json.__file__.startswith("/packages"), encodings.__file__.startswith("/packages"), sys.path[0]]
TOOL_SPECS = [{"name": "honest:run", "description": "Runs.", "handler": run, "examples": [{"arguments": {"a": 1}}]}]
"""


def test_look_alikes_and_hooks_of_installed_packages_never_run(pool: tuple[str, LivePool]) -> None:
    _, live = pool
    files: dict[str, str | bytes] = dict.fromkeys(LOOKALIKES, RAN)
    files |= {
        "a.pth": PTH,
        "distutils-precedence.pth": PTH,
        "evil-1.0.dist-info/entry_points.txt": ENTRY_POINTS,
    }
    own = live.environments.install(files, evil="1.0")
    report = live.check("honest", HONEST, own)
    assert report["ok"], report
    assert "RAN" not in report["log"]
    for _ in range(2):
        answered = live.call(HONEST, "honest:run", own, refill=True, a=1)
        assert answered["value"][:3] == [1, False, False], answered
        assert "RAN" not in answered["log"]
    without = live.call(HONEST, "honest:run", a=1)
    assert without["value"][:3] == [1, False, False]


ENTRY_POINTS = "[pydantic]\nevil = evil\n[console_scripts]\npython = evil:main\n"
#: Sends a message that only the runner's own code may send, with code for the next children. Before `Starting` the server
#: process would believe it.
FORGING = """
import json, os, stat
print("THE PACKAGE RAN", __name__, flush=True)
def channel():
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return descriptor
        except OSError:
            pass
payload = json.dumps({"imports": ["forged"], "code": "AAAA"}).encode()
os.write(channel(), len(payload).to_bytes(4, "big") + payload)
os._exit(7)
"""
VICTIM = """
import datetime
def run(a: datetime.date) -> int:
    '''Runs.

    :param a: A day, which the runner makes from a text.
    '''
    return a.year
TOOL_SPECS = [{"name": "victim:run", "handler": run}]
"""
#: Those that our code does not import here: a folder without `__init__.py` comes after the runner's own package.
NOT_IMPORTED = {"pydantic/json_schema.py", "orjson/__init__.py"}
#: Those that only a check imports.
OF_A_CHECK = {"docstring_parser/__init__.py", "jsonschema_rs/__init__.py"}


@pytest.mark.parametrize("pool", PLACES[0], indirect=True)
@pytest.mark.parametrize("as_nobody", PLACES[1], indirect=True)
@pytest.mark.parametrize("claimed", LIBRARIES)
def test_a_package_with_the_name_of_our_library_runs_after_the_first_report_only(
    pool: tuple[str, LivePool], claimed: str
) -> None:
    """What it forges then comes at the wrong time, and so it is noticed."""
    _, live = pool
    own = live.environments.install({claimed: FORGING, "marker.py": claimed}, evil="1.0")
    report = live.check("victim", VICTIM, own)
    assert report.get("error") is None, report
    # The first report is the runner's own: it has the imports of the module.
    assert report["imports"] == ["datetime"], report
    runs = claimed not in NOT_IMPORTED
    assert ("THE PACKAGE RAN" in report["log"], report["ok"]) == (runs, not runs), report
    for _ in range(2):
        answered = live.call(VICTIM, "victim:run", own, refill=True, a="2026-01-02")
        runs_in_calls = runs and claimed not in OF_A_CHECK
        assert ("THE PACKAGE RAN" in answered["log"]) is runs_in_calls, answered
        assert answered["code"] == ("RESULT_INVALID" if runs_in_calls else None), answered
    # Nobody without this environment is concerned.
    assert live.call(VICTIM, "victim:run", a="2026-01-02")["value"] == 2026
