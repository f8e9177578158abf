"""The first stage of a check: reads a module without executing a line of it."""

import ast
from dataclasses import dataclass

from toolrack_runner.module.fault import Fault, ModuleError, fault
from toolrack_runner.module.imports import ImportedPackage, imported_packages
from toolrack_runner.module.near_miss import misspelled
from toolrack_runner.module.source import check_module_name, code_object, source_text, syntax_tree
from toolrack_runner.tool_name import is_tool_name

NAME = "TOOL_SPECS"
_CONVENTION = "A module ends with TOOL_SPECS = [{'name': …, 'description': …, 'handler': …}]"


@dataclass(frozen=True, slots=True)
class DeclaredSpecs:
    """The lines of the specs that are written in the source as dicts."""

    #: The line of each spec, by the name of the spec. A name that occurs twice has its first line.
    spec_lines: dict[str, int]
    #: The line of each element of TOOL_SPECS and whether it is written as a dict, if TOOL_SPECS is one list in the source.
    elements: tuple[tuple[int, bool], ...]


NOTHING_DECLARED = DeclaredSpecs({}, ())


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """The packages, specs and faults that the source shows. A module with a fault must not be imported."""

    packages: tuple[ImportedPackage, ...]
    declared: DeclaredSpecs
    faults: tuple[Fault, ...]


def parse_module(name: str, source: bytes) -> ParsedModule:
    """Reads the syntax tree and executes nothing. `faults` are the faults of the module as a whole."""
    try:
        check_module_name(name)
        text = source_text(name, source)
        tree = syntax_tree(name, text)
        code_object(name, text)
    except ModuleError as error:
        return ParsedModule((), NOTHING_DECLARED, (error.fault,))
    missing = _missing_specs(name, tree)
    faults = () if missing is None else (missing,)
    return ParsedModule(imported_packages(tree), _declared_specs(tree), faults)


def _declared_specs(tree: ast.Module) -> DeclaredSpecs:
    spec_lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and (name := _written_name(node)) and is_tool_name(name):
            spec_lines[name] = min(node.lineno, spec_lines.get(name, node.lineno))
    return DeclaredSpecs(spec_lines, _elements(tree))


def _missing_specs(module: str, tree: ast.Module) -> Fault | None:
    """The fault of a module that cannot have TOOL_SPECS after its import."""
    assigned: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id == NAME or isinstance(node.ctx, ast.Store)):
            assigned.append(node.id)
        elif isinstance(node, ast.alias):
            assigned.append(node.asname or node.name)
        elif isinstance(node, ast.Constant) and node.value == NAME:
            return None
    if NAME in assigned or "*" in assigned:
        return None
    sentence = f"there is no {NAME}{misspelled(NAME, assigned)} {_CONVENTION}."
    return fault("specs_missing", module, None, sentence)


def _elements(tree: ast.Module) -> tuple[tuple[int, bool], ...]:
    """The line of each element and whether it is a dict, if TOOL_SPECS is a list or tuple without unpacking (`*others`)."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(
            node.value, ast.List | ast.Tuple
        ):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        elements = node.value.elts
        if any(isinstance(target, ast.Name) and target.id == NAME for target in targets) and not any(
            isinstance(each, ast.Starred) for each in elements
        ):
            return tuple((each.lineno, isinstance(each, ast.Dict)) for each in elements)
    return ()


def _written_name(node: ast.Dict) -> str | None:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "name" and isinstance(value, ast.Constant):
            return value.value if isinstance(value.value, str) else None
    return None
