"""Modules of several files written in a test, checked in this process."""

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from child.module.tools import ONE_TOOL
from toolrack_runner.child.module.check import check_module
from toolrack_runner.child.module.load import LoadedModule, load_module
from toolrack_runner.wire.fault import Fault, ModuleError


def bytes_of(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    """The files; an `__init__.py` without a TOOL_SPECS of its own exports the function `run`."""
    contents: dict[str, bytes] = {}
    for path, text in files.items():
        if isinstance(text, bytes):
            contents[path] = text
            continue
        plain = dedent(text)
        is_bare = path == "__init__.py" and "TOOL_SPECS" not in plain
        contents[path] = f"{plain}{ONE_TOOL}".encode() if is_bare else plain.encode()
    return contents


def loaded(files: Mapping[str, str | bytes]) -> LoadedModule:
    """The module as it is loaded for a call."""
    return load_module("weather", bytes_of(files))


def load_fault(files: Mapping[str, str | bytes]) -> Fault:
    """Why the module can't be loaded."""
    try:
        loaded(files)
    except ModuleError as error:
        return error.fault
    raise AssertionError("the module loads")


def checked(files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """The last report of a check."""
    sent: list[Any] = []
    check_module("weather", bytes_of(files), send=sent.append)
    report: dict[str, Any] = sent[-1]
    return report
