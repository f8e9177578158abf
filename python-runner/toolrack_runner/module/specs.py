"""Reading TOOL_SPECS: each spec becomes a tool or is refused with its reasons, and its siblings load all the same."""

from collections.abc import Mapping
from typing import Any

from toolrack_runner.module.class_facts import type_name
from toolrack_runner.module.declared_specs import NAME, DeclaredSpecs
from toolrack_runner.module.fault import Fault, FaultKind, ModuleFault, fault
from toolrack_runner.module.limits import SPECS_MAX
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.plain import as_items, as_list, as_text
from toolrack_runner.module.spec import read_spec
from toolrack_runner.module.tool import SpecFault, Tool
from toolrack_runner.module.trusted_names import Names


def read_specs(
    module: str, namespace: Mapping[str, Any], declared: DeclaredSpecs, trusted: Names
) -> tuple[dict[str, Tool], tuple[SpecFault, ...]]:
    """The tools by name and the specs that were refused, in order; raises ModuleFault where there is no list of specs."""
    elements = _elements(module, namespace)
    tools: dict[str, Tool] = {}
    refused: list[SpecFault] = []
    for index, element in enumerate(elements):
        read = read_spec(module, index, element, _line(declared, len(elements), index, element), trusted)
        if isinstance(read, SpecFault):
            refused.append(read)
        elif read.name in tools:
            refused.append(_repeated(module, index, read, tools[read.name]))
        else:
            tools[read.name] = read
    return tools, tuple(refused)


def _elements(module: str, namespace: Mapping[str, Any]) -> list[object]:
    if NAME not in namespace:
        meant = did_you_mean(NAME, (name for name in namespace if not name.startswith("__")))
        raise _refused(
            "specs_missing",
            module,
            f"after the import there is no {NAME}{meant} Assign a list of specs to it.",
        )
    specs = namespace[NAME]
    elements = as_list(specs)
    if elements is None:
        hint = " Put the dict into a list." if as_items(specs) is not None else ""
        raise _refused(
            "specs_not_a_list", module, f"{NAME} is {type_name(specs)}. Assign a list of specs to it.{hint}"
        )
    if not elements:
        raise _refused("specs_empty", module, f"{NAME} is empty. Add a spec for each tool.")
    if len(elements) > SPECS_MAX:
        raise _refused(
            "specs_too_many",
            module,
            f"{NAME} has {len(elements)} specs; at most {SPECS_MAX} are allowed. Split the module.",
        )
    return elements


def _refused(kind: FaultKind, module: str, sentence: str) -> ModuleFault:
    return ModuleFault(fault(kind, module, None, sentence))


def _repeated(module: str, index: int, tool: Tool, first: Tool) -> SpecFault:
    where = f" in line {first.line}" if first.line else ""
    sentence = f"'{tool.name}': an earlier spec{where} has this name, and keeps it. Rename one of them."
    found: Fault = fault("name_repeated", module, tool.line, sentence)
    return SpecFault(index, tool.name, tool.line, (found,))


def _line(declared: DeclaredSpecs, count: int, index: int, element: object) -> int | None:
    if len(declared.element_lines) == count:
        return declared.element_lines[index]
    for key, value in as_items(element) or []:
        if as_text(key) == "name":
            return declared.spec_lines.get(as_text(value) or "")
    return None
