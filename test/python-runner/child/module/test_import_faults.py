"""A module that can't be imported is refused with a sentence that names file, line and cure."""

import os
import socket
import subprocess
import sys

import pytest

from child.module.tools import checked, load_fault, stages
from toolrack_runner.wire.report import import_crashed, import_hung


@pytest.mark.parametrize(
    ("source", "kind", "code", "line", "part"),
    [
        (
            "x = 1\n1 / 0",
            "import_raised",
            "MODULE_BROKEN",
            2,
            "raised ZeroDivisionError: division by zero. Correct",
        ),
        (
            "def f(value: flaot): ...",
            "import_raised",
            "MODULE_BROKEN",
            1,
            "raised NameError: name 'flaot' is not defined. Did you mean 'float'? Correct",
        ),
        (
            "def f():\n    raise KeyError('a')\nf()",
            "import_raised",
            "MODULE_BROKEN",
            2,
            "raised KeyError: 'a'",
        ),
        ("raise KeyboardInterrupt", "import_raised", "MODULE_BROKEN", 1, "KeyboardInterrupt"),
        ("import json.nothing", "import_not_installed", "MODULE_BROKEN", 1, "imports 'json'"),
        (
            "import not_there.sub",
            "import_not_installed",
            "MODULE_BROKEN",
            1,
            "imports 'not_there', which is not installed",
        ),
        ("from json import nothing", "import_raised", "MODULE_BROKEN", 1, "cannot import name 'nothing'"),
        ("from . import other", "import_sibling_missing", "MODULE_BROKEN", 1, "the module is one file"),
        ("import sys\n\nsys.exit()", "import_exited", "MODULE_BROKEN", 3, "calls exit(). Remove the call"),
        ("quit()", "import_exited", "MODULE_BROKEN", 1, "__name__ == '__main__'"),
        ("raise MemoryError", "import_memory", "MEMORY_LIMIT", 1, "Load less, and inside a handler"),
        ("x = 'a' * (1 << 60)", "import_memory", "MEMORY_LIMIT", 1, "more memory"),
        ("raise OSError(28, 'full')", "import_disk", "DISK_LIMIT", 1, "disk quota"),
        ("def f(): f()\nf()", "import_raised", "MODULE_BROKEN", 1, "RecursionError"),
        (
            "class E(Exception):\n def __str__(self): raise SystemExit\nraise E",
            "import_raised",
            "MODULE_BROKEN",
            3,
            "weather.E",
        ),
        (
            "TOOL_SPECS = {'name': 1}",
            "specs_not_a_list",
            "MODULE_BROKEN",
            None,
            "is a dict. Assign a list of specs to it. Put the dict",
        ),
        ("TOOL_SPECS = None", "specs_not_a_list", "MODULE_BROKEN", None, "TOOL_SPECS is None"),
        ("TOOL_SPECS = []", "specs_empty", "MODULE_INVALID", None, "Add a spec"),
        (
            "TOOL_SPECS = [{}] * 51",
            "specs_too_many",
            "MODULE_INVALID",
            None,
            "has 51 specs; at most 50 are allowed",
        ),
        (
            "TOOL_SPEC = []\nif 0: TOOL_SPECS = []",
            "specs_missing",
            "MODULE_BROKEN",
            None,
            "Did you misspell it as 'TOOL_SPEC'?",
        ),
    ],
)
def test_an_import_that_fails_names_kind_code_line_and_cure(
    source: str, kind: str, code: str, line: int | None, part: str
) -> None:
    found = load_fault(source)
    assert (found.kind, found.code, found.line) == (kind, code, line)
    assert found.message.startswith(f"weather.py, line {line}: " if line else "weather.py: ")
    assert part in found.message


@pytest.mark.parametrize(
    ("before", "cure"),
    [
        ("", "in three lines: '# /// script', '# dependencies = [\"pyyaml\"]' and '# ///'. Or use"),
        (
            "x = 1\n# /// script\n# requires-python = '>=3'\n# dependencies = [\n#   'six',\n# ]\n# ///\n",
            'Add "pyyaml" to `dependencies` in line 4 of weather.py.',
        ),
        (
            "# /// script\r\n# dependencies=['six']\r\n# ///\r\n",
            'Add "pyyaml" to `dependencies` in line 2 of weather.py.',
        ),
        (
            "# /// script\n# requires-python = '>=3'\n# ///\n# dependencies = []\n",
            "Add '# dependencies = [\"pyyaml\"]' to the head of the module, below line 1 of weather.py.",
        ),
    ],
)
def test_the_cure_for_a_missing_package_names_the_line_of_the_head_if_there_is_one(
    before: str, cure: str
) -> None:
    assert cure in load_fault(f"{before}import yaml\n").message
    (note,) = checked(f"{before}def run():\n    import yaml\n")["notes"]
    assert cure in note["message"]


def test_the_traceback_of_an_import_shows_the_lines_of_the_module_only() -> None:
    found = load_fault("import json\ndef f(text):\n    return json.loads(text)\nf('{')")
    assert found.traceback is not None
    assert [line for line in found.traceback.split("\n") if line.startswith("  File")] == [
        '  File "weather.py", line 4, in <module>',
        '  File "weather.py", line 3, in f',
    ]
    assert "json.decoder.JSONDecodeError: " in found.traceback


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("os.fork()", "The sandbox starts no processes"),
        ("os.posix_spawn('/bin/sh', ['sh'], {})", "The sandbox starts no processes"),
        ("subprocess.run(['ls'])", "The sandbox starts no processes"),
        ("socket.socket()", "The sandbox has no network"),
        ("open('/root/x')", "write in its working folder only"),
        ("open('/usr/x')", "write in its working folder only"),
        ("multiprocessing.Process(target=print).start()", "The sandbox starts no processes"),
        ("multiprocessing.Lock()", "The sandbox starts no processes"),
        # It wants a semaphore of the system's.
        ("multiprocessing.pool.ThreadPool(2)", "Use threads (concurrent.futures.ThreadPoolExecutor)"),
        ("socket.getaddrinfo('example.com', 80)", "The sandbox has no network"),
        ("urllib.request.urlopen('http://example.com')", "The sandbox has no network"),
    ],
)
def test_what_the_jail_refuses_is_explained(
    line: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(os, "posix_spawn", refuse)
    monkeypatch.setattr(subprocess.Popen, "_execute_child", refuse)
    monkeypatch.setattr("multiprocessing.synchronize.SemLock._make_name", refuse_semaphore)
    monkeypatch.setattr("socket.socket.__init__", refuse)
    monkeypatch.setattr("_socket.getaddrinfo", refuse_name)
    monkeypatch.setattr("builtins.open", refuse_file)
    found = load_fault(f"import os, subprocess, socket, multiprocessing.pool, urllib.request\n{line}")
    assert (found.kind, found.code, found.line) == ("import_denied", "MODULE_BROKEN", 2)
    assert sentence in found.message


def refuse_semaphore(*_: object) -> None:
    raise FileNotFoundError(2, "No such file or directory")


def refuse_name(*_: object) -> None:
    raise socket.gaierror(-3, "Temporary failure in name resolution")


def refuse_file(path: str) -> None:
    if path.startswith("/usr"):
        raise OSError(30, "Read-only file system", path)
    raise PermissionError(13, "Permission denied", path)


@pytest.mark.parametrize(
    "line",
    [
        "raise PermissionError('not for you')",
        "raise PermissionError(1, 'not for you')",
        "raise OSError(5, 'Input/output error')  # os.fork()",
        "raise OSError(5, 'Input/output error')  # socket.connect()",
    ],
)
def test_an_error_of_the_module_itself_is_no_refusal_of_the_jail(line: str) -> None:
    assert load_fault(line).kind == "import_raised"


@pytest.mark.parametrize(
    "name",
    ["json", "pytest", "winreg", "9weather", "we-ather", "café", "class", "", "a" * 65, "__main__", "a.b"],
)
def test_a_name_that_no_module_may_have_is_refused_before_anything_is_read(name: str) -> None:
    found = load_fault("1 / 0", name)
    assert found.kind in {"module_name_invalid", "module_name_taken"}
    assert found.code == "MODULE_INVALID"
    assert "Rename" in found.message
    parsed, last = stages("1 / 0", name)
    assert (
        [fault["kind"] for fault in parsed["faults"]]
        == [fault["kind"] for fault in last["faults"]]
        == [found.kind]
    )


def test_a_module_that_failed_is_no_module_of_that_name() -> None:
    load_fault("1 / 0")
    assert "weather" not in sys.modules


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            import_hung("weather", 7, 2.5),
            "weather.py, line 7: importing the module did not end within 2.5 s. Move",
        ),
        (import_hung("weather", None, 10), "weather.py: importing the module did not end within 10 s. Move"),
        (
            import_crashed("weather", None, "signal 11"),
            "weather.py: importing the module ended its process (signal 11).",
        ),
    ],
)
def test_what_the_caller_says_of_a_process_that_gave_no_report_names_file_and_cure(
    fault: object, message: str
) -> None:
    assert str(getattr(fault, "message", "")).startswith(message)
    assert getattr(fault, "code", "") == "MODULE_BROKEN"
