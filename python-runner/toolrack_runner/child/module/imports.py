"""Finds the packages that a module imports, in its syntax tree or in its compiled code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from dis import EXTENDED_ARG, opmap
from types import CodeType
from typing import Final

#: How many packages a report names. No module needs more, and the limit keeps the report small.
PACKAGES_MAX = 200
#: The most characters of a package's name. Packages with longer names are left out, to keep the report small.
NAME_CHARS_MAX = 128

_IMPORT_NAME: Final = opmap["IMPORT_NAME"]
_LOAD_CONST: Final = opmap["LOAD_CONST"]
_FORGIVING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class ImportedPackage:
    """A top-level package. It is `optional` if each of its imports handles an ImportError, or is only for type checkers."""

    name: str
    line: int
    optional: bool
    #: The file with the import.
    file: str


def imported_packages(tree: ast.Module, file: str) -> tuple[ImportedPackage, ...]:
    """Each imported package once, in the order of the source. Imports inside of functions count too."""
    found: dict[str, ImportedPackage] = {}
    optional_lines = _optional_lines(tree)
    for node in sorted(_imports(tree), key=lambda node: (node.lineno, node.col_offset)):
        optional = node.lineno in optional_lines
        for name in _packages(node):
            if len(name) > NAME_CHARS_MAX or len(found) >= PACKAGES_MAX:
                continue
            known = found.get(name)
            if known is None or (known.optional and not optional):
                found[name] = ImportedPackage(name, node.lineno, optional, file)
    return tuple(found.values())


def imported_siblings(tree: ast.Module, file: str) -> Iterator[tuple[str, int]]:
    """Finds the imports by which a file such as `weather/sub/a.py` imports other files of its module.

    Yields the dotted name within the module, and the line. Leaves out imports that may fail. Leaves out `from . import x`
    too, because x may be a name in the folder's `__init__.py`.
    """
    optional_lines = _optional_lines(tree)
    module, *folders = file.split("/")[:-1]
    for node in sorted(_imports(tree), key=lambda node: (node.lineno, node.col_offset)):
        if node.lineno in optional_lines:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            if node.module and node.level <= len(folders) + 1:
                yield ".".join((*folders[: len(folders) + 1 - node.level], node.module)), node.lineno
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            top, _, inner = name.partition(".")
            if top == module and inner:
                yield inner, node.lineno


def imports_of_code(*codes: CodeType) -> tuple[str, ...]:
    """The top-level packages that compiled code and its functions import, each once. Leaves out `from .` imports.

    Reading the instructions takes a tenth of the time of reading the syntax tree.
    """
    found: dict[str, None] = {}
    pending = list(codes)
    while pending:
        one = pending.pop()
        instructions, extended = one.co_code, 0
        for at in range(0, len(instructions), 2):
            operation, argument = instructions[at], instructions[at + 1] | extended
            extended = argument << 8 if operation == EXTENDED_ARG else 0
            if operation == _IMPORT_NAME and not _is_relative(one, at):
                found[one.co_names[argument].partition(".")[0]] = None
        pending += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return tuple(name for name in found if name)


def _is_relative(code: CodeType, at: int) -> bool:
    """Whether the import at this instruction is relative. The import's level is loaded two instructions before."""
    instructions = code.co_code
    for _ in range(2):
        at -= 2
        while instructions[at] == EXTENDED_ARG:
            at -= 2
    argument, before, shift = instructions[at + 1], at - 2, 8
    while before >= 0 and instructions[before] == EXTENDED_ARG:
        argument |= instructions[before + 1] << shift
        before, shift = before - 2, shift + 8
    level = code.co_consts[argument] if instructions[at] == _LOAD_CONST else argument
    return type(level) is int and level > 0


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _packages(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return [node.module.partition(".")[0]] if node.level == 0 and node.module else []


def _optional_lines(tree: ast.Module) -> set[int]:
    """The lines of imports that may fail, because they are in a `try … except ImportError` or only for type checkers."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if (isinstance(node, ast.Try) and any(_forgives(handler) for handler in node.handlers)) or (
            isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"
        ):
            lines.update(inner.lineno for statement in node.body for inner in _imports(statement))
    return lines


def _forgives(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _last_name(kind) in _FORGIVING for kind in kinds)


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
