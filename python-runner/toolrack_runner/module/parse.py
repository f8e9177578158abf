"""The first stage of a check: reads a module without executing a line of it."""

import ast
from dataclasses import dataclass

from toolrack_runner.module.fault import Fault, ModuleError, fault
from toolrack_runner.module.imports import ImportedPackage, imported_packages
from toolrack_runner.module.near_miss import misspelled
from toolrack_runner.module.source import code_object, module_name_fault, source_text, syntax_tree
from toolrack_runner.tool_name import is_tool_name

NAME = "TOOL_SPECS"
_CONVENTION = "A module ends with TOOL_SPECS = [{'name': …, 'description': …, 'handler': …}]"


@dataclass(frozen=True, slots=True)
class DeclaredSpecs:
    """The lines of those specs that are written out in the source."""

    #: By the name of the spec. If a name comes twice, the first line counts.
    spec_lines: dict[str, int]
    #: Of each element of TOOL_SPECS, if that is one list in the source.
    element_lines: tuple[int, ...]


NOTHING_DECLARED = DeclaredSpecs({}, ())


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """What a module says about itself. A module with a fault must not be imported."""

    name: str
    packages: tuple[ImportedPackage, ...]
    declared: DeclaredSpecs
    faults: tuple[Fault, ...]


def parse_module(name: str, source: bytes) -> ParsedModule:
    """Reads the syntax tree and executes nothing. `faults` says what is wrong with the module as a whole."""
    found = module_name_fault(name)
    if found:
        return ParsedModule(name, (), NOTHING_DECLARED, (found,))
    try:
        text = source_text(name, source)
        tree = syntax_tree(name, text)
        code_object(name, text)
    except ModuleError as error:
        return ParsedModule(name, (), NOTHING_DECLARED, (error.fault,))
    missing = _missing_specs(name, tree)
    faults = () if missing is None else (missing,)
    return ParsedModule(name, imported_packages(tree), _declared_specs(tree), faults)


def _declared_specs(tree: ast.Module) -> DeclaredSpecs:
    spec_lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            name = _written_name(node)
            if name is not None and is_tool_name(name):
                spec_lines[name] = min(node.lineno, spec_lines.get(name, node.lineno))
    return DeclaredSpecs(spec_lines, _element_lines(tree))


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


def _element_lines(tree: ast.Module) -> tuple[int, ...]:
    """The line of each element, if TOOL_SPECS is one list or tuple that nothing is unpacked into."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        if not any(isinstance(target, ast.Name) and target.id == NAME for target in targets):
            continue
        value = node.value
        if isinstance(value, ast.List | ast.Tuple) and not any(
            isinstance(each, ast.Starred) for each in value.elts
        ):
            return tuple(each.lineno for each in value.elts)
    return ()


def _written_name(node: ast.Dict) -> str | None:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "name" and isinstance(value, ast.Constant):
            return value.value if isinstance(value.value, str) else None
    return None
