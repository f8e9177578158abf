"""Modules written in a test, loaded and called in this process."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.check import check_module
from toolrack_runner.child.module.load import LoadedModule, load_module
from toolrack_runner.wire.fault import Fault, ModuleError

MODULES = Path(__file__).parents[2] / "modules"
#: A module whose one tool is the function `run` above this line.
ONE_TOOL = "\nTOOL_SPECS = [{'name': 'weather:run', 'description': 'Runs.', 'handler': run}]\n"


def source_of(text: str) -> bytes:
    """The bytes of a module written in a test; without a TOOL_SPECS of its own its tool is `run`."""
    text = dedent(text)
    return (text if "TOOL_SPECS" in text else text + ONE_TOOL).encode()


def loaded(text: str, name: str = "weather") -> LoadedModule:
    """The module as it is loaded for a call."""
    return load_module(name, source_of(text))


def load_fault(text: str, name: str = "weather") -> Fault:
    """Why the module can't be loaded."""
    try:
        load_module(name, source_of(text))
    except ModuleError as error:
        return error.fault
    raise AssertionError("the module loads")


def called(
    text: str, /, *, output_bytes_max: int = 100_000, context: dict[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    """The outcome of the tool `run` of a module."""
    return call_tool(loaded(text), "weather:run", arguments, context or {}, output_bytes_max=output_bytes_max)


def checked(source: str | bytes, name: str = "weather") -> dict[str, Any]:
    """The last report of a check."""
    return stages(source, name)[-1]


def stages(source: str | bytes, name: str = "weather") -> list[dict[str, Any]]:
    """Everything that a check sends."""
    sent: list[Any] = []
    check_module(name, source if isinstance(source, bytes) else source_of(source), send=sent.append)
    return sent


def kinds(report: dict[str, Any]) -> list[str]:
    """The kinds of all faults of a report, of the module and of its specs."""
    tools = [fault for tool in report["tools"] for fault in tool["faults"]]
    return [fault["kind"] for fault in [*report["faults"], *tools]]
