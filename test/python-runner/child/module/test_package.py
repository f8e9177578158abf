"""A module of several files is a Python package: its imports, its data, its tracebacks and its faults."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from child.module.apart import checked_apart
from child.module.packages import bytes_of, checked, load_fault, loaded
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.load import (
    CODE_BYTES_MAX,
    LoadedModule,
    load_known,
    load_module,
    places,
    portable_code,
)
from toolrack_runner.child.module.package import forget_package
from toolrack_runner.child.module.source import code_object


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working folder of its own, and no module that a test before has imported."""
    monkeypatch.chdir(tmp_path)
    finders = sys.meta_path.copy()
    _forget()
    yield
    sys.meta_path[:] = finders
    _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "weather"]:
        del sys.modules[name]


def call(module: LoadedModule, tool: str = "weather:run", **arguments: Any) -> dict[str, Any]:
    return call_tool(module, tool, arguments, {}, output_bytes_max=10_000)


def answer(files: Mapping[str, str | bytes]) -> Any:
    """What `run` of these files returns."""
    outcome = call(loaded(files))
    assert outcome["outcome"] == "success", outcome
    return outcome.get("value", outcome["text"])


DEEP = {
    "x.py": "NAME = 'x'",
    "sub/__init__.py": "from .deep import y as deep_y",
    "sub/deep/y.py": "from .. import __name__ as above\nfrom ...x import NAME\nY = f'{above} {NAME}'",
    "bare/one/two/z.py": "from weather.x import NAME\nZ = NAME * 2",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("from . import x\ndef run(): return x.NAME", "x"),
        ("from .x import NAME\ndef run(): return NAME", "x"),
        ("from .x import *\ndef run(): return NAME", "x"),
        ("import weather.x\ndef run(): return weather.x.NAME", "x"),
        ("from weather import x as other\ndef run(): return other.NAME", "x"),
        ("def run():\n    from .x import NAME\n    return NAME", "x"),
        ("import importlib\ndef run(): return importlib.import_module('.x', __package__).NAME", "x"),
        ("from .sub.deep.y import Y\ndef run(): return Y", "weather.sub x"),
        ("from .sub import deep_y\ndef run(): return deep_y.Y", "weather.sub x"),
        ("from .bare.one.two.z import Z\ndef run(): return Z", "xx"),
        ("from . import bare\ndef run(): return getattr(bare, '__file__', None)", None),
        ("def run(): return [__name__, __package__, __spec__.name]", ["weather"] * 3),
        ("import pkgutil\ndef run(): return [m.name for m in pkgutil.iter_modules(__path__)]", ["sub", "x"]),
        ("import inspect\nfrom . import x\ndef run(): return inspect.getsource(x)", "NAME = 'x'\n"),
    ],
)
def test_files_import_each_other_as_in_python(text: str, value: object) -> None:
    assert answer(DEEP | {"__init__.py": text}) == value


def test_the_source_of_a_function_in_any_file_can_be_read() -> None:
    files = {
        "__init__.py": "import inspect\nfrom .sub.x import f\ndef run(): return inspect.getsource(f)",
        "sub/x.py": "A = 1\ndef f():\n    return 7\n",
    }
    assert answer(files) == "def f():\n    return 7\n"


@pytest.mark.parametrize("name", ["json", "types", "re", "typing"])
def test_a_file_named_like_the_standard_library_hides_nothing(name: str) -> None:
    files = {
        "__init__.py": f"import {name} as library\nfrom . import {name} as own\n"
        "def run(): return [hasattr(library, 'OWN'), own.OWN, library.__name__]",
        f"{name}.py": f"import {name}\nOWN = {name}.__name__",
    }
    assert answer(files) == [False, name, name]


def test_only_what_is_imported_runs() -> None:
    assert answer({"__init__.py": "def run(): return 1", "never.py": "1 / 0"}) == 1


def test_a_namespace_is_refused_to_nobody_and_found_below_the_module_only() -> None:
    files = {"__init__.py": "def run():\n    import helpers\n", "helpers.py": ""}
    assert "No module named 'helpers'" in str(call(loaded(files))["error"])


DATA = {"cities.json": '["Bern"]', "texts/deep/hello.txt": "gr\u00fcezi\r\n\ufeff"}


@pytest.mark.parametrize(
    "reading",
    [
        "importlib.resources.files(__package__).joinpath({path!r}).read_bytes().decode()",
        "pkgutil.get_data(__package__, {path!r}).decode()",
        "(Path(__file__).parent / {path!r}).read_bytes().decode()",
        "importlib.resources.files('weather.inner').joinpath('../' + {path!r}).read_bytes().decode()",
    ],
)
@pytest.mark.parametrize("path", DATA)
def test_data_is_read_in_every_usual_way_by_a_handler_and_by_an_import(reading: str, path: str) -> None:
    read = reading.format(path=path)
    imports = "import importlib.resources, pkgutil\nfrom pathlib import Path\n"
    files = DATA | {
        "__init__.py": f"{imports}EARLY = {read}\ndef run(): return [EARLY, {read}]",
        "inner/x.py": "",
    }
    assert answer(files) == [DATA[path]] * 2


def test_data_in_a_folder_without_python_is_a_resource() -> None:
    text = (
        "from importlib.resources import files\ndef run():\n"
        "    return files('weather.texts.deep').joinpath('hello.txt').read_bytes().decode()"
    )
    assert answer(DATA | {"__init__.py": text}) == DATA["texts/deep/hello.txt"]


def test_data_of_500_kb_is_read() -> None:
    text = "from pathlib import Path\ndef run(): return len((Path(__file__).parent / 'data.txt').read_text())"
    assert answer({"__init__.py": text, "data.txt": "x" * 500_000}) == 500_000


def test_a_traceback_shows_the_lines_of_all_files_and_of_no_other() -> None:
    module = loaded(
        {
            "__init__.py": "from . import parts\ndef run():\n    return parts.parse('{')",
            "parts.py": "import json\n\ndef parse(text):\n    return json.loads(text)",
        }
    )
    error = str(call(module)["error"]).split("\n")
    assert error[:5] == [
        "Traceback (most recent call last):",
        '  File "weather/__init__.py", line 3, in run',
        "    return parts.parse('{')",
        '  File "weather/parts.py", line 4, in parse',
        "    return json.loads(text)",
    ]
    assert error[5].startswith("json.decoder.JSONDecodeError: ")


def test_an_import_that_fails_names_the_file_and_shows_both() -> None:
    found = load_fault(
        {"__init__.py": "\nfrom . import parts\ndef run(): pass", "parts.py": "x = 1\ny = {}['a']"}
    )
    assert (found.kind, found.line) == ("import_raised", 2)
    assert found.message.startswith("weather/parts.py, line 2: importing the module raised KeyError: 'a'.")
    assert found.traceback == (
        "Traceback (most recent call last):\n"
        '  File "weather/__init__.py", line 2, in <module>\n'
        "    from . import parts\n"
        '  File "weather/parts.py", line 2, in <module>\n'
        "    y = {}['a']\n"
        "KeyError: 'a'"
    )


def test_a_package_that_failed_leaves_no_module_behind() -> None:
    finders = len(sys.meta_path)
    load_fault({"__init__.py": "from . import x\n1 / 0", "x.py": ""})
    assert [name for name in sys.modules if name.startswith("weather")] == []
    assert len(sys.meta_path) == finders


NO_RUN = "\ndef run(): pass"
#: The files, the kind, and the message.
SIBLINGS = [
    (
        {"__init__.py": "\nfrom .helper import f" + NO_RUN, "helpers.py": ""},
        "import_sibling_missing",
        (
            "weather/__init__.py, line 2: the module imports '.helper', and there is no file helper.py in it. "
            "Did you mean 'helpers'?"
        ),
    ),
    (
        {"__init__.py": "from . import helper" + NO_RUN, "helpers.py": ""},
        "import_sibling_missing",
        (
            "weather/__init__.py, line 1: the module imports 'helper' from '.', and there is no file helper.py in it. "
            "Did you mean 'helpers'?"
        ),
    ),
    (
        {"__init__.py": "import weather.sub.qqq" + NO_RUN, "sub/a.py": ""},
        "import_sibling_missing",
        "weather/__init__.py, line 1: the module imports '.sub.qqq', and there is no file sub/qqq.py in it.",
    ),
    (
        {"__init__.py": "from .sub import qqq" + NO_RUN, "sub/a.py": ""},
        "import_sibling_missing",
        "weather/__init__.py, line 1: the module imports 'qqq' from '.sub', and there is no file sub/qqq.py in it.",
    ),
    (
        {
            "__init__.py": "from . import a" + NO_RUN,
            "a.py": "\n\nfrom .b import tital",
            "b.py": "def title(): ...",
        },
        "import_sibling_missing",
        "weather/a.py, line 3: the module imports 'tital' from b.py, which does not define it. Did you mean 'title'?",
    ),
    (
        {"__init__.py": "import helpers" + NO_RUN, "helpers.py": ""},
        "import_sibling_missing",
        "weather/__init__.py, line 1: the module imports 'helpers', which is one of its own files. Write 'from . import",
    ),
    (
        {"__init__.py": "from .. import helpers" + NO_RUN, "helpers.py": ""},
        "import_sibling_missing",
        "weather/__init__.py, line 1: the import goes above the folder of the module.",
    ),
    (
        {
            "__init__.py": "from . import a" + NO_RUN,
            "a.py": "from .b import two\none = 1",
            "b.py": "from .a import one\ntwo = 2",
        },
        "import_circular",
        (
            "weather/b.py, line 1: 'one' is imported from a.py before a.py has defined it, because files of the module "
            "import each other. Import it inside the function that needs it, or move what both files need into another file."
        ),
    ),
    (
        {
            "__init__.py": "from . import a" + NO_RUN,
            "a.py": "import weather.b\ndef one(): ...",
            "b.py": "import weather.a\nx = weather.a.one",
        },
        "import_circular",
        "weather/b.py, line 2: a.py is used before its import has ended, because files of the module import each other.",
    ),
    (
        {"__init__.py": "from . import a\nDEFAULT = 1" + NO_RUN, "a.py": "from . import DEFAULT"},
        "import_circular",
        "weather/a.py, line 1: 'DEFAULT' is imported from __init__.py before __init__.py has defined it",
    ),
    (
        {"__init__.py": "from . import a" + NO_RUN, "a.py": "import nosuchpackage"},
        "import_not_installed",
        "weather/a.py, line 1: the module imports 'nosuchpackage', which is not installed here.",
    ),
]


@pytest.mark.parametrize(("files", "kind", "message"), SIBLINGS)
def test_an_import_between_files_that_fails_says_what_to_do(
    files: dict[str, str], kind: str, message: str
) -> None:
    report = checked(files)
    (fault,) = report["faults"]
    assert (fault["kind"], fault["code"]) == (kind, "MODULE_BROKEN")
    assert fault["message"].startswith(message)
    assert report["notes"] == []


@pytest.mark.parametrize("text", ["from . import x", "from .x import y"])
def test_a_module_of_one_file_has_no_siblings_and_learns_how_to_have_them(text: str) -> None:
    with pytest.raises(Exception, match=r"weather.py, line 1: the module is one file, .* as several files\."):
        load_module("weather", f"{text}\n".encode())


def test_a_missing_import_is_told_once_whether_it_ends_the_import_or_not() -> None:
    files = {
        "__init__.py": "from . import a\ndef run():\n    import missing_one, missing_two",
        "a.py": "import missing_one",
        "b.py": "import missing_two, missing_one",
    }
    report = checked(files)
    messages = [each["message"] for each in (*report["faults"], *report["notes"])]
    assert [message.split(":")[0] for message in messages] == [
        "weather/a.py, line 1",
        "weather/__init__.py, line 3",
    ]
    assert ["missing_one" in message for message in messages] == [True, False]
    assert report["missingImports"] == ["missing_one", "missing_two"]
    assert report["imports"] == ["missing_one", "missing_two"]


@pytest.mark.parametrize(
    ("path", "content", "kind", "message"),
    [
        (
            "helpers.py",
            b"x = 1\n\ndef f(:\n",
            "syntax_error",
            "weather/helpers.py, line 3: Python can't read this",
        ),
        ("a/b.py", b"# caf\xe9", "source_not_utf8", "weather/a/b.py, line 1: byte 0xE9 is not UTF-8."),
        (
            "b.py",
            b"# coding: latin-1",
            "source_not_utf8",
            "weather/b.py, line 1: the coding line says latin-1",
        ),
        ("b.py", b"x\n\0", "source_has_nul", "weather/b.py, line 2: the file holds a NUL byte."),
        ("b.py", b"-" * 100_000 + b"1", "source_too_nested", "weather/b.py: the source is nested too deeply"),
        (
            "data.json",
            b'["caf\xe9"]',
            "source_not_utf8",
            "weather/data.json, line 1: byte 0xE9 is not UTF-8.",
        ),
        (
            "data.json",
            "[]".encode("utf-16"),
            "source_not_utf8",
            "weather/data.json, line 1: the file is UTF-16.",
        ),
        ("data.bin", b"a\0b", "source_has_nul", "weather/data.bin, line 1: the file holds a NUL byte."),
        ("../up.py", b"", "path_invalid", "weather/: '../up.py' is no path of a file."),
    ],
)
def test_a_file_that_cannot_be_read_is_a_fault_before_anything_runs(
    path: str, content: bytes, kind: str, message: str, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    report = checked({"__init__.py": f"open({str(mark)!r}, 'w')\ndef run(): pass", path: content})
    (fault,) = report["faults"]
    assert (fault["kind"], report["ok"]) == (kind, False)
    assert fault["message"].startswith(message)
    assert not mark.exists()
    assert os.listdir(tmp_path) == []


def test_each_file_that_cannot_be_read_is_told() -> None:
    report = checked({"__init__.py": "x = (", "b.py": "y = )", "c.txt": b"\xff", "d.py": ""})
    assert [fault["message"].split(":")[0] for fault in report["faults"]] == [
        "weather/c.txt, line 1",
        "weather/__init__.py, line 1",
        "weather/b.py, line 1",
    ]


def test_specs_name_the_file_in_which_they_are_written() -> None:
    files = {
        "__init__.py": """
            from . import specs
            from .specs import made
            def run() -> str: return ""
            TOOL_SPECS = [
                specs.FIRST,
                {"name": "weather:second", "description": 7, "handler": run},
                specs.MANY[0],
                *made,
            ]
        """,
        "specs.py": """
            def run(x) -> str: return ""
            FIRST = {"name": "weather:first", "description": 7, "handler": run}
            MANY = [
                {"name": "weather:many", "description": 7, "handler": run}]
            made = [dict(name=f"weather:{name}", description="Made.", handler=run, kex=1) for name in "ab"]
        """,
    }
    told = [
        message.split(": '")[0]
        for tool in checked(files)["tools"]
        for message in [each["message"] for each in (*tool["faults"], *tool["notes"])]
    ]
    assert told == [
        "weather/specs.py, line 3",
        "weather/__init__.py, line 7",
        "weather/specs.py, line 5",
        "weather/specs.py, line 2",
        "weather/specs.py, line 2",
    ]


def test_specs_that_are_imported_from_another_file_are_specs() -> None:
    files = {
        "__init__.py": "from .specs import TOOL_SPECS",
        "specs.py": "def run(): return 1\nTOOL_SPECS = [\n{'name': 'weather:run', 'description': 'R.', 'handler': run}]",
    }
    report = checked(files)
    (tool,) = report["tools"]
    assert (report["ok"], tool["file"], tool["line"]) == (True, "weather/specs.py", 3)


@pytest.mark.parametrize("text", ["", "tool_specs = []"])
def test_a_package_without_specs_names_its_main_file(text: str) -> None:
    (fault,) = checked({"__init__.py": text + "# TOOL_SPECS\n", "x.py": "TOOL_SPECS = []"})["faults"]
    assert (fault["kind"], fault["message"].split(":")[0]) == ("specs_missing", "weather/__init__.py")


def known(files: dict[str, str]) -> LoadedModule:
    """The module, loaded from the code that a process before has told."""
    contents = bytes_of(files)
    texts = {path: content.decode() for path, content in contents.items()}
    codes = {f"weather/{path}": code_object(f"weather/{path}", text) for path, text in texts.items()}
    code = portable_code(codes)
    assert code is not None
    return load_known("weather", texts, code, {"weather:run": 0})


def test_code_that_a_process_before_has_told_does_the_same() -> None:
    files = {"__init__.py": "from .a import b\ndef run(): return b()", "a.py": "def b(): return [][0]"}
    before = call(loaded(files))
    forget_package("weather")
    assert call(known(files)) == before


def test_files_whose_code_is_too_large_are_compiled_by_each_process() -> None:
    text = f"X = {'y' * 200_000!r}"
    names = [f"big{number}" for number in range(4)]
    codes = {f"weather/{name}.py": code_object(f"weather/{name}.py", text) for name in names}
    data = portable_code(codes)
    assert data is not None
    assert len(data) <= CODE_BYTES_MAX
    files = {"__init__.py": f"from . import {', '.join(names)}\ndef run(): return len(big3.X)"}
    assert call(known(files | {f"{name}.py": text for name in names})) == {
        "outcome": "success",
        "text": "200000",
        "value": 200_000,
    }


def test_places_of_specs_lead_to_handlers_in_other_files() -> None:
    module = loaded(
        {
            "__init__.py": "from . import x\nTOOL_SPECS = [{'name': 'weather:run', 'description': 'R.', 'handler': x.run}]",
            "x.py": "def run(): return 'x'",
        }
    )
    assert places(module) == {"weather:run": 0}
    assert json.loads(json.dumps(call(module))) == {"outcome": "success", "text": "x"}


def test_each_file_that_is_missing_is_told_before_anything_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    files = {
        "__init__.py": f"open({str(mark)!r}, 'w')\ndef run():\n    from .one import x\n    import weather.one",
        "sub/a.py": "from ..two import x\nfrom .three import x\nfrom ..one import y",
        "sub/b.py": "try:\n    from .four import x\nexcept ImportError:\n    pass\nfrom ....five import x",
    }
    faults = checked(files)["faults"]
    assert {fault["kind"] for fault in faults} == {"import_sibling_missing"}
    assert [fault["message"].partition(" the module imports ")[::2] for fault in faults] == [
        ("weather/__init__.py, line 3:", "'.one', and there is no file one.py in it."),
        ("weather/sub/a.py, line 1:", "'.two', and there is no file two.py in it."),
        ("weather/sub/a.py, line 2:", "'.sub.three', and there is no file sub/three.py in it."),
    ]
    assert not mark.exists()


@pytest.mark.parametrize("spoils", ["sys.modules[7] = sys", "sys.meta_path = None", "sys.modules.clear()"])
def test_a_package_that_spoils_the_imports_and_fails_is_still_explained(spoils: str) -> None:
    found = checked_apart(
        "weather", {"__init__.py": f"import sys\n{spoils}\n1 / 0\nTOOL_SPECS = []".encode()}
    )
    (fault,) = found["faults"]
    assert (fault["kind"], fault["line"]) == ("import_raised", 3)
