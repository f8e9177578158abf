"""Explains an import of another file of the same module that failed."""

import ast
import re

from toolrack_runner.module.facts import missing_name, own_text
from toolrack_runner.module.fault import FaultKind
from toolrack_runner.module.file_paths import INIT
from toolrack_runner.module.files import ModuleFiles
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.package import module_paths

_CANNOT = re.compile(
    r"cannot import name '(\w{1,100})' from (?:partially initialized module )?'([\w.]{1,300})'"
)
_PARTIAL = re.compile(r"partially initialized module '([\w.]{1,300})'.* has no attribute '(\w{1,100})'")
_ONE_FILE = (
    "the module is one file, so there is no other file that 'from .' can import. Put all code into this file, or send "
    "the module as several files"
)


def sibling_fault(files: ModuleFiles, error: BaseException) -> tuple[FaultKind, str] | None:
    """The kind and the sentence, if an import between files of the module failed; else None."""
    said = own_text(error, ImportError)
    if said.startswith("attempted relative import"):
        if not files.is_package:
            return "import_sibling_missing", f"{_ONE_FILE}."
        sentence = "the import goes above the folder of the module. 'from .' is the folder of the file itself"
        return "import_sibling_missing", f"{sentence}."
    if not files.is_package:
        return None
    siblings = module_paths(file.partition("/")[2] for file in files.texts)
    missing = missing_name(error) or ""
    top, _, inner = missing.partition(".")
    if top == files.name and inner:
        return "import_sibling_missing", missing_sibling(inner, siblings)
    if missing in siblings:
        sentence = (
            f"the module imports '{missing}', which is a file of its own. Write 'from . import {missing}'."
        )
        return "import_sibling_missing", sentence
    return _cannot_import(files, siblings, said or own_text(error, AttributeError))


def missing_sibling(dotted: str, siblings: dict[str, str]) -> str:
    """The sentence about an import of a file that the module has not. `dotted` has no leading dot."""
    shown = dotted[:100]
    sentence = f"the module imports '.{shown}', and there is no file {shown.replace('.', '/')}.py in it"
    return f"{sentence}{did_you_mean(dotted, [name for name in siblings if name])}"


def _cannot_import(files: ModuleFiles, siblings: dict[str, str], said: str) -> tuple[FaultKind, str] | None:
    """Explains Python's sentence about a name that another file does not have, or does not have yet."""
    found = _CANNOT.match(said)
    name, origin = (found[1], found[2]) if found else ("", "")
    partial = None if found else _PARTIAL.match(said)
    if partial:
        origin, name = partial[1], partial[2]
    top, _, inner = origin.partition(".")
    path = siblings.get(inner) if top == files.name else None
    if path is None:
        return None
    bound = _names_of(files.texts.get(f"{files.name}/{path}", ""))
    if name in bound:
        sentence = (
            f"'{name}' is imported from {path} before {path} has defined it, because files of the module import each other. "
            "Import it inside the function that needs it, or move what both files need into another file"
        )
        return "import_circular", f"{sentence}."
    if not found:
        return None
    near = did_you_mean(name, [*bound, *(each for each in siblings if each)])
    if path.endswith(INIT) or not path.endswith(".py"):
        folder = path.removesuffix(INIT)
        sentence = (
            f"the module imports '{name}' from '.{inner}', and there is no file {folder}{name}.py in it"
        )
        return "import_sibling_missing", sentence + near
    return (
        "import_sibling_missing",
        f"the module imports '{name}' from {path}, which does not define it{near}",
    )


def _names_of(text: str) -> list[str]:
    """The names that a file assigns, defines or imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import):
            names += [each.asname or each.name.partition(".")[0] for each in node.names]
    return names
