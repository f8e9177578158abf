"""Modules of several files over HTTP: checked, called and forgotten like modules of one file."""

import base64
import hashlib
import json
from typing import Any

import pytest

from support.live_runner import LiveRunner, invocation, live_runner
from support.until import until

INIT = """
from . import helpers
from .units.metric import celsius

def report(city: str) -> str:
    \"\"\"Reports.\"\"\"
    return f"{helpers.title(city)}: {celsius(59)}"

TOOL_SPECS = [{"name": "weather:report", "handler": report, "examples": [{"arguments": {"city": "bern"}}]}]
"""
FILES = {
    "__init__.py": INIT,
    "helpers.py": "def title(text): return text.title()\n",
    "units/metric.py": "from .. import helpers\ndef celsius(f): return (f - 32) * 5 // 9\n",
    "cities.json": '["Bern"]',
}


def digest_of(files: dict[str, str]) -> str:
    listed = [
        {"path": path, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for path, text in sorted(files.items())
    ]
    return hashlib.sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()


def check(runner: LiveRunner, files: object, name: str = "weather") -> dict[str, Any]:
    answer = runner.client.post("/check", json={"name": name, "files": files})
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = answer.json()
    return report


def body(files: dict[str, str], tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    sent = invocation("", tool, arguments) | {"sha256": digest_of(files), "files": files}
    del sent["source"]
    return sent


def invoke(
    runner: LiveRunner, files: dict[str, str], tool: str = "weather:report", **arguments: Any
) -> dict[str, Any]:
    answer = runner.client.post("/invoke", json=body(files, tool, arguments))
    assert answer.status_code == 200, answer.text
    outcome: dict[str, Any] = answer.json()
    return outcome


def test_a_package_is_checked_and_called_and_its_files_are_asked_for_once(runner: LiveRunner) -> None:
    report = check(runner, FILES)
    assert (report["ok"], report["faults"], report["notes"]) == (True, [], [])
    assert report["sha256"] == digest_of(FILES)
    assert report["tools"][0]["examples"][0]["text"] == "Bern: 15"
    files = FILES | {"helpers.py": f"{FILES['helpers.py']}# Asked for once.\n"}
    sent = body(files, "weather:report", {"city": "bern"})
    without = {key: value for key, value in sent.items() if key != "files"}
    unknown = runner.client.post("/invoke", json=without)
    assert (unknown.status_code, unknown.json()["error"]["details"]) == (404, [{"reason": "MODULE_UNKNOWN"}])
    assert runner.client.post("/invoke", json=sent).json()["text"] == "Bern: 15"
    # The first of these compiles the files, and the others get the code of an earlier child.
    for _ in range(5):
        assert runner.client.post("/invoke", json=without).json()["text"] == "Bern: 15"


def test_files_in_base64_are_the_same_files(runner: LiveRunner) -> None:
    encoded = {path: base64.b64encode(text.encode()).decode() for path, text in FILES.items()}
    answer = runner.client.post("/check", json={"name": "weather", "filesBase64": encoded})
    as_text = check(runner, FILES)
    assert (answer.json()["tools"], answer.json()["sha256"]) == (as_text["tools"], as_text["sha256"])


@pytest.mark.parametrize(
    "fields",
    [
        {"files": FILES, "source": ""},
        {"files": FILES, "filesBase64": {}},
        {"files": []},
        {"files": "x"},
        {"filesBase64": {"__init__.py": "é"}},
    ],
)
def test_a_check_without_exactly_one_source_is_refused(runner: LiveRunner, fields: dict[str, object]) -> None:
    answer = runner.client.post("/check", json={"name": "weather", **fields})
    assert answer.status_code == 400
    assert "the body must have one of source" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"source": "x = 1"}, "source, a string, or files"),
        ({"files": [1]}, "source, a string, or files"),
        ({"files": FILES | {"a.py": 7}}, "each of the files must be a string"),
        ({"files": FILES | {"../a.py": ""}}, "files: weather/: '../a.py' is no path of a file."),
        ({"files": {"a.py": ""}}, "files: weather/: there is no __init__.py"),
        ({"files": FILES | {"a.py": ""}}, "sha256 is not the digest of files"),
    ],
)
def test_a_call_with_files_that_no_check_accepts_is_refused(
    runner: LiveRunner, change: dict[str, object], sentence: str
) -> None:
    answer = runner.client.post("/invoke", json=body(FILES, "weather:report") | change)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]["message"]


def test_a_source_that_has_the_digest_of_files_is_refused(runner: LiveRunner) -> None:
    files = FILES | {"mine.txt": "Nobody else's."}
    listed = [
        {"path": path, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for path, text in sorted(files.items())
    ]
    forged = json.dumps(listed, separators=(",", ":"))
    sent = invocation(forged, "weather:report")
    assert sent["sha256"] == digest_of(files)
    answer = runner.client.post("/invoke", json=sent)
    assert (answer.status_code, "is a list of files" in answer.json()["error"]["message"]) == (400, True)
    assert invoke(runner, files, city="bern")["text"] == "Bern: 15"


def test_a_line_that_runs_too_long_is_named_with_its_file(runner: LiveRunner) -> None:
    files = FILES | {"helpers.py": "def title(text):\n    while True: pass\n"}
    # On a busy machine, the time may be over before the handler runs. Then no line is named.
    answer: dict[str, Any] = {}
    for _ in range(5):
        answer = runner.client.post(
            "/invoke", json=body(files, "weather:report", {"city": "x"}) | {"deadlineMs": 3_000}
        ).json()
        if "was running" in answer["error"]:
            break
    assert answer["code"] == "DEADLINE_EXCEEDED"
    assert "(line 2 of weather/helpers.py was running)" in answer["error"]
    endless = {"__init__.py": "TOOL_SPECS = []\nfrom . import a", "a.py": "\nwhile True: pass"}
    report = runner.client.post(
        "/check", json={"name": "weather", "files": endless, "deadlineMs": 3_000}
    ).json()
    assert [fault["message"] for fault in report["faults"]] == [
        "weather/a.py, line 2: importing the module did not end within 3 s. Move slow work into a handler."
    ]


def test_a_crash_is_named_with_its_file(runner: LiveRunner) -> None:
    crash = "import ctypes\ndef title(text):\n    return ctypes.string_at(1)\n"
    answer = invoke(runner, FILES | {"helpers.py": crash}, city="x")
    assert answer["code"] == "TOOL_CRASHED"
    assert "(signal 11 in line 3 of weather/helpers.py)" in answer["error"]
    ended = check(
        runner, {"__init__.py": "TOOL_SPECS = []\nfrom . import a", "a.py": "import os\nos._exit(3)"}
    )
    assert [fault["message"].split(":")[0] for fault in ended["faults"]] == ["weather/__init__.py"]


def test_files_are_private_to_a_call_and_a_call_finds_them_as_they_were_sent(runner: LiveRunner) -> None:
    files = {
        "__init__.py": """
import os
from pathlib import Path
HERE = Path(__file__).parent
def spoil() -> list:
    \"\"\"Spoils its files.\"\"\"
    found = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*") if path.is_file())
    text = (HERE / "data.txt").read_text()
    (HERE / "data.txt").write_text("spoilt")
    (HERE / "helpers.py").write_text("1 / 0")
    from . import helpers
    return [found, text, helpers.X, HERE == Path.cwd() / "files"]
TOOL_SPECS = [{"name": "files:spoil", "handler": spoil}]
""",
        "helpers.py": "X = 'sent'",
        "data.txt": "sent",
        "a/b.txt": "",
    }
    for _ in range(4):
        assert invoke(runner, files, "files:spoil")["value"] == [
            ["__init__.py", "a/b.txt", "data.txt", "helpers.py"],
            "sent",
            "sent",
            True,
        ]


def test_files_count_against_the_quota_and_a_quota_without_room_for_them_is_said(runner: LiveRunner) -> None:
    sent = body(FILES, "weather:report", {"city": "x"}) | {"limits": {"fileBytes": 10}}
    answer = runner.client.post("/invoke", json=sent).json()
    assert (
        answer["code"],
        answer["error"].startswith("weather/__init__.py: importing the module writes more"),
    ) == (
        "DISK_LIMIT",
        True,
    )


@pytest.mark.parametrize("without", [(), ("--without=namespaces",)], ids=["", "without namespaces"])
def test_the_largest_module_fits_into_a_call_and_is_forgotten_by_its_digest(without: tuple[str, ...]) -> None:
    init = (
        "from pathlib import Path\n"
        "def count() -> list:\n    '''Counts.'''\n    here = Path(__file__).parent\n"
        "    return [len([p for p in here.rglob('*') if p.is_file()]), sum(p.stat().st_size for p in here.rglob('*.txt'))]\n"
        "TOOL_SPECS = [{'name': 'large:count', 'handler': count}]\n"
    )
    files = {"__init__.py": init} | {f"a{n}/{'b' * 150}.txt": "\u20ac" * 2_700 for n in range(63)}
    with live_runner(*without) as live:
        report = check(live, files, "large")
        assert (report["ok"], report["faults"]) == (True, [])
        for _ in range(3):
            assert invoke(live, files, "large:count")["value"] == [64, 63 * 8_100]
        until(lambda: live.health()["children"]["waiting"] >= 2, "children that wait for the next call")
        forgotten = {"module": "large", "sha256": digest_of(files)}
        assert live.client.post("/forget", json=forgotten).status_code == 204
        assert live.health()["children"]["waiting"] == 0


def test_no_module_has_the_name_of_the_runner(runner: LiveRunner) -> None:
    report = check(runner, {"__init__.py": "TOOL_SPECS = []"}, "toolrack_runner")
    assert [fault["kind"] for fault in report["faults"]] == ["module_name_taken"]
