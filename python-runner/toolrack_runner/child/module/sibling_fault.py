"""Explains why the import of one file of a module by another one has failed."""

import ast
import re
from collections.abc import Mapping

from toolrack_runner.child.module.facts import missing_name, own_text
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.file_paths import INIT
from toolrack_runner.near_miss import did_you_mean
from toolrack_runner.wire.fault import FaultKind

_NAME = r"'(?P<name>\w{1,100})'"
_ORIGIN = r"'(?P<origin>[\w.]{1,300})'"
_CANNOT = re.compile(rf"cannot import name {_NAME} from (?:partially initialized module )?{_ORIGIN}")
#: What Python says if an import between files fails.
_FORMS = (
    _CANNOT,
    re.compile(rf"partially initialized module {_ORIGIN}.* has no attribute {_NAME}"),
    re.compile(rf"cannot access submodule {_NAME} of module {_ORIGIN}"),
)
_CIRCULAR = (
    "because files of the module import each other. Import it inside the function that needs it, or move what both "
    "files need into another file"
)
_ONE_FILE = (
    "the module is one file, so there is no other file that 'from .' can import. Put all code into this file, or send "
    "the module as several files"
)


def sibling_fault(files: ModuleFiles, error: BaseException) -> tuple[FaultKind, str] | None:
    """The kind of the fault and its sentence, if an import between files of the module has failed. Otherwise None."""
    said = own_text(error, ImportError)
    if said.startswith("attempted relative import"):
        if not files.is_package:
            return "import_sibling_missing", f"{_ONE_FILE}."
        sentence = "the import goes above the folder of the module. 'from .' is the folder of the file itself"
        return "import_sibling_missing", f"{sentence}."
    if not files.is_package:
        return None
    siblings = files.siblings
    missing = missing_name(error) or ""
    top, _, inner = missing.partition(".")
    if top == files.name and inner:
        return "import_sibling_missing", missing_sibling(inner, siblings)
    if missing and missing in siblings:
        return "import_sibling_missing", absolute_sibling(missing)
    return _cannot_import(files, siblings, said or own_text(error, AttributeError))


def absolute_sibling(name: str) -> str:
    """The sentence for a file of the module that is imported as if it were an installed package."""
    return f"the module imports '{name}', which is one of its own files. Write 'from . import {name}'."


def missing_sibling(dotted: str, siblings: Mapping[str, str]) -> str:
    """The sentence for the import of a file that the module does not have. `dotted` has no leading dot."""
    shown = dotted[:100]
    sentence = f"the module imports '.{shown}', and there is no file {shown.replace('.', '/')}.py in it"
    return f"{sentence}{did_you_mean(dotted, [name for name in siblings if name])}"


def _cannot_import(
    files: ModuleFiles, siblings: Mapping[str, str], said: str
) -> tuple[FaultKind, str] | None:
    """Explains what Python says about a name that another file does not have, or does not have yet."""
    found = next((found for form in _FORMS if (found := form.match(said))), None)
    if found is None:
        return None
    name, origin = found["name"], found["origin"]
    top, _, inner = origin.partition(".")
    path = siblings.get(inner) if top == files.name else None
    if path is None:
        return None
    bound = _names_of(files.texts.get(f"{files.name}/{path}", ""))
    if name in bound:
        return (
            "import_circular",
            f"'{name}' is imported from {path} before {path} has defined it, {_CIRCULAR}.",
        )
    is_import = found.re is _CANNOT
    submodule = siblings.get(f"{inner}.{name}" if inner else name)
    if submodule is not None and not is_import:
        return "import_circular", f"{submodule} is used before its import has ended, {_CIRCULAR}."
    if not is_import:
        return None
    near = did_you_mean(name, [*bound, *(each for each in siblings if each)])
    if path.endswith(".py") and not path.endswith(INIT):
        sentence = f"the module imports '{name}' from {path}, which does not define it"
    else:
        folder = path.removesuffix(INIT).rstrip("/")
        file = f"{folder}/{name}.py" if folder else f"{name}.py"
        sentence = f"the module imports '{name}' from '.{inner}', and there is no file {file} in it"
    return "import_sibling_missing", sentence + near


def _names_of(text: str) -> list[str]:
    """The names that a file assigns, defines or imports. Leaves out `from . import x`, because it imports a file."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module):
            names += [each.asname or each.name.partition(".")[0] for each in node.names]
    return names
