"""The first stage of a check: reads a module without executing a line of it."""

import ast
from dataclasses import dataclass

from toolrack_runner.child.module.files import ModuleFiles, Source, readable_files
from toolrack_runner.child.module.imports import (
    PACKAGES_MAX,
    ImportedPackage,
    imported_packages,
    imported_siblings,
)
from toolrack_runner.child.module.sibling_fault import absolute_sibling, missing_sibling
from toolrack_runner.child.module.source import check_module_name, code_object, is_available, syntax_tree
from toolrack_runner.near_miss import misspelled
from toolrack_runner.tool_name import is_tool_name
from toolrack_runner.wire.fault import Fault, ModuleError, fault

NAME = "TOOL_SPECS"
_CONVENTION = "A module ends with TOOL_SPECS = [{'name': …, 'description': …, 'handler': …}]"


@dataclass(frozen=True, slots=True)
class DeclaredSpecs:
    """Where those specs are that are written in the source as dicts."""

    #: The file and the line of each spec, by the name of the spec. If a name occurs twice, they are those of the first spec.
    spec_places: dict[str, tuple[str, int]]
    #: For each element of TOOL_SPECS, its line and whether it is a dict. Empty if TOOL_SPECS is not one list in the main
    #: file.
    elements: tuple[tuple[int, bool], ...]


NOTHING_DECLARED = DeclaredSpecs({}, ())


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """What the source shows: packages, specs and faults. If there is a fault, the module must not be imported."""

    packages: tuple[ImportedPackage, ...]
    declared: DeclaredSpecs
    faults: tuple[Fault, ...]
    #: The files that can be read. None if the name of the module is at fault.
    files: ModuleFiles | None = None


def parse_module(name: str, source: Source, packages: str = "") -> ParsedModule:
    """Reads the syntax trees. Nothing is executed. `faults` are faults of the whole module, at most one for each file.

    `packages` is the folder of the module's environment, or empty.
    """
    try:
        check_module_name(name, packages)
    except ModuleError as error:
        return ParsedModule((), NOTHING_DECLARED, (error.fault,))
    files, faults = readable_files(name, source)
    trees: dict[str, ast.Module] = {}
    for file in files.python_files if files.main in files.texts else ():
        try:
            trees[file] = syntax_tree(file, files.texts[file])
            code_object(file, files.texts[file])
        except ModuleError as error:
            faults.append(error.fault)
    if not faults:
        faults += _missing_siblings(files, trees, packages)
    if not faults and (missing := _missing_specs(files.main, trees[files.main])) is not None:
        faults.append(missing)
    if faults and files.main not in trees:
        return ParsedModule((), NOTHING_DECLARED, tuple(faults), files)
    imported = _imported(files, trees, packages)
    return ParsedModule(imported, _declared_specs(files.main, trees), tuple(faults), files)


def _imported(files: ModuleFiles, trees: dict[str, ast.Module], packages: str) -> tuple[ImportedPackage, ...]:
    """The packages that the files import, each once. Leaves out the module itself and its files."""
    found: dict[str, ImportedPackage] = {}
    siblings = files.siblings
    for file, tree in trees.items():
        for package in imported_packages(tree, file):
            name, known = package.name, found.get(package.name)
            if name == files.name or (name in siblings and not is_available(name, packages)):
                continue
            if known is None or (known.optional and not package.optional):
                found[package.name] = package
    return tuple(found.values())[:PACKAGES_MAX]


def _missing_siblings(files: ModuleFiles, trees: dict[str, ast.Module], packages: str) -> list[Fault]:
    """A fault for each imported file that the module lacks, and for each of its files that it imports like a package."""
    siblings = files.siblings if files.is_package else {}
    told: dict[str, Fault] = {}
    for file, tree in trees.items() if siblings else ():
        for dotted, line in imported_siblings(tree, file):
            if dotted not in siblings:
                sentence = missing_sibling(dotted, siblings)
                told.setdefault(f".{dotted}", fault("import_sibling_missing", file, line, sentence))
        for each in imported_packages(tree, file):
            if not each.optional and each.name in siblings and not is_available(each.name, packages):
                sentence = absolute_sibling(each.name)
                told.setdefault(each.name, fault("import_sibling_missing", file, each.line, sentence))
    return list(told.values())


def _declared_specs(main: str, trees: dict[str, ast.Module]) -> DeclaredSpecs:
    places: dict[str, tuple[str, int]] = {}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and (name := _written_name(node)) and is_tool_name(name):
                known = places.get(name)
                if known is None or (known[0] == file and node.lineno < known[1]):
                    places[name] = file, node.lineno
    return DeclaredSpecs(places, _elements(trees[main]))


def _missing_specs(main: str, tree: ast.Module) -> Fault | None:
    """The fault of a module that certainly has no TOOL_SPECS after its import. None if it may have them."""
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
    return fault("specs_missing", main, None, sentence)


def _elements(tree: ast.Module) -> tuple[tuple[int, bool], ...]:
    """The line of each element, and whether it is a dict. Empty if TOOL_SPECS is not one list or tuple without `*others`."""
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
