"""Which packages a module imports, read off its syntax tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

#: More than that no module needs, and a report stays small.
PACKAGES_MAX = 200
NAME_CHARS_MAX = 128

_FORGIVING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class ImportedPackage:
    """A top-level package; `optional` where the module says what to do without it at every place that imports it."""

    name: str
    line: int
    optional: bool


def imported_packages(tree: ast.Module) -> tuple[ImportedPackage, ...]:
    """Each package once, in the order of the source, also from inside functions."""
    found: dict[str, ImportedPackage] = {}
    optional_lines = _optional_lines(tree)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(imports, key=lambda node: (node.lineno, node.col_offset)):
        optional = node.lineno in optional_lines
        for name in _packages(node):
            if len(name) > NAME_CHARS_MAX or len(found) >= PACKAGES_MAX:
                continue
            known = found.get(name)
            if known is None or (known.optional and not optional):
                found[name] = ImportedPackage(name, node.lineno, optional)
    return tuple(found.values())


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
            body = node.body
        else:
            continue
        for statement in body:
            lines.update(
                inner.lineno
                for inner in ast.walk(statement)
                if isinstance(inner, ast.Import | ast.ImportFrom)
            )
    return lines


def _forgives(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _last_name(kind) in _FORGIVING for kind in kinds)


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
