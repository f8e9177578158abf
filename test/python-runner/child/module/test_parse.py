"""Reading a module: everything that can be known without executing a line of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import MODULES, checked
from toolrack_runner.child.module.parse import ParsedModule, parse_module
from toolrack_runner.wire.fault import Fault

SPECS = b"\nTOOL_SPECS = []\n"


def only_fault(source: bytes) -> Fault:
    (found,) = parse_module("weather", source).faults
    return found


def names_of(parsed: ParsedModule) -> list[str]:
    return [package.name for package in parsed.packages]


def test_the_convention_parses_without_a_fault_and_with_the_line_of_each_spec() -> None:
    parsed = parse_module("weather", (MODULES / "weather.py").read_bytes())
    assert parsed.faults == ()
    assert parsed.declared.spec_places == {
        "weather:get_report": ("weather.py", 16),
        "weather:get_temperatures": ("weather.py", 36),
    }
    assert parsed.packages == ()


def test_the_packages_of_all_imports_are_named_once_and_in_order() -> None:
    source = b"""
import os.path, json as j
from collections.abc import Iterator
from . import sibling
def f():
    import numpy.linalg
    from os import sep
try:
    import yaml
except (ValueError, ImportError):
    yaml = None
try:
    import tomli
except KeyError: pass
if typing.TYPE_CHECKING:
    import stubs
TOOL_SPECS = []
"""
    parsed = parse_module("weather", source)
    assert names_of(parsed) == ["os", "json", "collections", "numpy", "yaml", "tomli", "stubs"]
    assert [package.name for package in parsed.packages if package.optional] == ["yaml", "stubs"]
    assert {package.name: package.line for package in parsed.packages}["numpy"] == 6


def test_a_package_that_is_needed_once_is_not_optional() -> None:
    source = b"try:\n    import yaml\nexcept ImportError: pass\nimport yaml" + SPECS
    (package,) = parse_module("weather", source).packages
    assert (package.optional, package.line) == (False, 4)


def test_what_is_told_of_a_module_stays_small_however_much_it_imports() -> None:
    imports = "".join(f"import package{number}\n" for number in range(300)) + f"import {'x' * 200}\n"
    parsed = parse_module("weather", imports.encode() + SPECS)
    assert names_of(parsed) == [f"package{number}" for number in range(200)]
    assert parse_module("weather", f"import {'x' * 200}".encode() + SPECS).packages == ()


def test_only_the_name_of_a_tool_is_taken_for_one() -> None:
    source = b"PEOPLE = [{'name': 'Ada Lovelace'}]\nTOOL_SPECS = [{'name': 'weather:run'}, {'name': 7}]"
    assert parse_module("weather", source).declared.spec_places == {"weather:run": ("weather.py", 2)}


@pytest.mark.parametrize(
    ("source", "kind", "line", "part"),
    [
        (b"x = (\n1", "syntax_error", 1, "(column 5): '(' was never closed."),
        (b"def f():\nreturn 1", "syntax_error", 2, "expected an indented block"),
        (b"return 1" + SPECS, "syntax_error", 1, "'return' outside function"),
        (b"print 1", "syntax_error", 1, "Missing parentheses"),
        (b"x = 1" + b"0" * 5000 + SPECS, "syntax_error", 1, "Exceeds the limit"),
        (b"x = 1\n# caf\xe9\n", "source_not_utf8", 2, "byte 0xE9 is not UTF-8. Save the file as UTF-8."),
        (b"\xef\xbb\xbfx = 1\r\r\n\xff", "source_not_utf8", 3, "byte 0xFF"),
        ("x = 1".encode("utf-16"), "source_not_utf8", 1, "the file is UTF-16"),
        ("x = 1".encode("utf-32"), "source_not_utf8", 1, "the file is UTF-32"),
        (b"# coding: latin-1\nx = 1", "source_not_utf8", 1, "the coding line says latin-1"),
        (b"#!/usr/bin/python\n# -*- coding: cp1252 -*-", "source_not_utf8", 2, "cp1252"),
        (b"x = 1\ny = '\0'", "source_has_nul", 2, "NUL"),
        (b"#" * (256 * 1024 + 1), "source_too_large", None, "262,145 bytes; a module may have 262,144"),
        (b"#" * 1_000_000, "source_too_large", None, "1,000,000 bytes"),
        (b"-" * 100_000 + b"1" + SPECS, "source_too_nested", None, "nested too deeply"),
        (b"a" + b".b" * 100_000 + SPECS, "source_too_nested", None, "nested too deeply"),
        (b"x = 1" + b"+1" * 100_000 + SPECS, "source_too_nested", None, "nested too deeply"),
        (b"(" * 3_000 + SPECS, "syntax_error", 1, "too many nested parentheses"),
        (b"", "specs_missing", None, "there is no TOOL_SPECS. A module ends with"),
        (b"tool_specs = []", "specs_missing", None, "Did you misspell it as 'tool_specs'?"),
    ],
)
def test_bad_source_is_one_fault_with_its_line_and_cure(
    source: bytes, kind: str, line: int | None, part: str
) -> None:
    found = only_fault(source)
    assert (found.kind, found.line) == (kind, line)
    assert found.message.startswith(f"weather.py, line {line}: " if line else "weather.py: ")
    assert part in found.message


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbf# coding: utf-8" + SPECS,
        b"# vim: set fileencoding=UTF-8 :" + SPECS,
        b"x = 1\n# coding: latin-1" + SPECS,
        b"#" * (256 * 1024 - len(SPECS)) + SPECS,
        "x = 'ünï'".encode() + SPECS,
        b"x = '\\d'" + SPECS,
        b"\r\n\x0c\r" + SPECS,
    ],
)
def test_what_python_reads_as_utf8_is_read(source: bytes) -> None:
    assert parse_module("weather", source).faults == ()


@pytest.mark.parametrize(
    "source",
    [
        b"from specs import *",
        b"from specs import SPECS as TOOL_SPECS",
        b"globals()['TOOL_SPECS'] = []",
        b"TOOL_SPECS: list = []",
        b"if True:\n    TOOL_SPECS = []",
        b"for TOOL_SPECS in [[]]: pass",
    ],
)
def test_specs_that_may_be_made_at_run_time_are_left_to_the_import(source: bytes) -> None:
    assert parse_module("weather", source).faults == ()


HOSTILE = """
import pathlib
MARK = pathlib.Path({mark!r})
@(lambda f: MARK.write_text("decorator"))
def a(x=MARK.write_text("default")): ...
class B(metaclass=lambda *_: MARK.write_text("metaclass")):
    MARK.write_text("body")
class C:
    def __init_subclass__(cls): MARK.write_text("subclass")
class D(C): ...
x: MARK.write_text("annotation") = 1
assert not MARK.write_text("assert")
match MARK:
    case pathlib.Path(name=n) if MARK.write_text("guard"): ...
f"{{MARK.write_text('f-string')}}"
TOOL_SPECS = []
"""


def test_reading_executes_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = HOSTILE.format(mark=str(mark))
    assert parse_module("weather", source.encode()).faults == ()
    assert not mark.exists()
    checked(source)
    assert mark.exists(), "the same source does act once it is imported"


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_read_or_refused_with_a_sentence(source: bytes) -> None:
    for found in parse_module("weather", source).faults:
        assert found.message.startswith("weather.py")
        assert found.message.endswith(".")
