"""Reads TOOL_SPECS. Each spec becomes a tool, or is refused with its faults. The others are not affected."""

from collections.abc import Mapping
from typing import Any

from toolrack_runner.child.module.facts import as_items, as_list, as_text, type_name
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.handler import handler_place
from toolrack_runner.child.module.parse import NAME, DeclaredSpecs
from toolrack_runner.child.module.spec import RefusedSpec, Tool, read_spec
from toolrack_runner.child.module.trusted_names import Names
from toolrack_runner.limits import SPECS_MAX
from toolrack_runner.near_miss import misspelled
from toolrack_runner.wire.fault import fault, module_error


def read_specs(
    files: ModuleFiles, namespace: Mapping[str, Any], declared: DeclaredSpecs, trusted: Names
) -> tuple[dict[str, Tool], tuple[RefusedSpec, ...]]:
    """The tools by name, and the refused specs in their order. Raises ModuleError if the module has no list of specs."""
    elements = _elements(files.main, namespace)
    tools: dict[str, Tool] = {}
    refused: list[RefusedSpec] = []
    for index, element in enumerate(elements):
        read = read_spec(
            files, index, element, _place(files, declared, len(elements), index, element), trusted
        )
        if isinstance(read, RefusedSpec):
            refused.append(read)
        elif read.name in tools:
            refused.append(_repeated(index, read, tools[read.name]))
        else:
            tools[read.name] = read
    return tools, tuple(refused)


def _elements(main: str, namespace: Mapping[str, Any]) -> list[object]:
    if NAME not in namespace:
        near = misspelled(NAME, (name for name in namespace if not name.startswith("__")))
        sentence = f"after the import there is no {NAME}{near} Assign a list of specs to it."
        raise module_error("specs_missing", main, None, sentence)
    specs = namespace[NAME]
    elements = as_list(specs)
    if elements is None:
        hint = " Put the dict into a list." if as_items(specs) is not None else ""
        sentence = f"{NAME} is {type_name(specs)}. Assign a list of specs to it.{hint}"
        raise module_error("specs_not_a_list", main, None, sentence)
    if not elements:
        raise module_error("specs_empty", main, None, f"{NAME} is empty. Add a spec for each tool.")
    if len(elements) > SPECS_MAX:
        sentence = f"{NAME} has {len(elements)} specs; at most {SPECS_MAX} are allowed. Split the module."
        raise module_error("specs_too_many", main, None, sentence)
    return elements


def _repeated(index: int, tool: Tool, first: Tool) -> RefusedSpec:
    where = f" in line {first.line}" if first.line else ""
    if where and first.file != tool.file:
        where = f" in {first.file}, line {first.line}"
    sentence = f"'{tool.name}': an earlier spec{where} has this name, and keeps it. Rename one of them."
    return RefusedSpec(
        index, tool.name, tool.file, tool.line, (fault("name_repeated", tool.file, tool.line, sentence),)
    )


def _place(
    files: ModuleFiles, declared: DeclaredSpecs, count: int, index: int, element: object
) -> tuple[str, int | None]:
    """The file and the line of a spec: of its dict, else of its handler, else of its element in TOOL_SPECS."""
    line, is_dict = declared.elements[index] if len(declared.elements) == count else (None, False)
    if is_dict:
        return files.main, line
    fields = {as_text(key): value for key, value in as_items(element) or []}
    written = declared.spec_places.get(as_text(fields.get("name")) or "")
    if written is not None:
        return written
    file, handler_line = handler_place(fields.get("handler"), files.texts)
    return (files.main, line) if file is None else (file, handler_line)
