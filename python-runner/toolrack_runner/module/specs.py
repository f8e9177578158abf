"""Reads TOOL_SPECS. Each spec becomes a tool, or is refused with its faults without an effect on the other specs."""

from collections.abc import Mapping
from typing import Any

from toolrack_runner.limits import SPECS_MAX
from toolrack_runner.module.facts import as_items, as_list, as_text, type_name
from toolrack_runner.module.fault import fault, module_error
from toolrack_runner.module.handler import handler_line
from toolrack_runner.module.near_miss import misspelled
from toolrack_runner.module.parse import NAME, DeclaredSpecs
from toolrack_runner.module.spec import RefusedSpec, Tool, read_spec
from toolrack_runner.module.trusted_names import Names


def read_specs(
    module: str, namespace: Mapping[str, Any], declared: DeclaredSpecs, trusted: Names
) -> tuple[dict[str, Tool], tuple[RefusedSpec, ...]]:
    """The tools by name, and the refused specs in order. Raises ModuleError if there is no list of specs."""
    elements = _elements(module, namespace)
    tools: dict[str, Tool] = {}
    refused: list[RefusedSpec] = []
    for index, element in enumerate(elements):
        read = read_spec(
            module, index, element, _line(module, declared, len(elements), index, element), trusted
        )
        if isinstance(read, RefusedSpec):
            refused.append(read)
        elif read.name in tools:
            refused.append(_repeated(module, index, read, tools[read.name]))
        else:
            tools[read.name] = read
    return tools, tuple(refused)


def _elements(module: str, namespace: Mapping[str, Any]) -> list[object]:
    if NAME not in namespace:
        near = misspelled(NAME, (name for name in namespace if not name.startswith("__")))
        sentence = f"after the import there is no {NAME}{near} Assign a list of specs to it."
        raise module_error("specs_missing", module, None, sentence)
    specs = namespace[NAME]
    elements = as_list(specs)
    if elements is None:
        hint = " Put the dict into a list." if as_items(specs) is not None else ""
        sentence = f"{NAME} is {type_name(specs)}. Assign a list of specs to it.{hint}"
        raise module_error("specs_not_a_list", module, None, sentence)
    if not elements:
        raise module_error("specs_empty", module, None, f"{NAME} is empty. Add a spec for each tool.")
    if len(elements) > SPECS_MAX:
        sentence = f"{NAME} has {len(elements)} specs; at most {SPECS_MAX} are allowed. Split the module."
        raise module_error("specs_too_many", module, None, sentence)
    return elements


def _repeated(module: str, index: int, tool: Tool, first: Tool) -> RefusedSpec:
    where = f" in line {first.line}" if first.line else ""
    sentence = f"'{tool.name}': an earlier spec{where} has this name, and keeps it. Rename one of them."
    return RefusedSpec(index, tool.name, tool.line, (fault("name_repeated", module, tool.line, sentence),))


def _line(module: str, declared: DeclaredSpecs, count: int, index: int, element: object) -> int | None:
    """The line of a spec: of its dict, else of its handler, else of its place in TOOL_SPECS."""
    line, is_dict = declared.elements[index] if len(declared.elements) == count else (None, False)
    if is_dict:
        return line
    fields = {as_text(key): value for key, value in as_items(element) or []}
    written = declared.spec_lines.get(as_text(fields.get("name")) or "")
    return written or handler_line(fields.get("handler"), f"{module}.py") or line
