"""What the syntax tree tells about TOOL_SPECS, as far as the specs are written out."""

import ast
from dataclasses import dataclass

from toolrack_runner.module.near_miss import near_miss
from toolrack_runner.tool_name import is_tool_name

NAME = "TOOL_SPECS"


@dataclass(frozen=True, slots=True)
class DeclaredSpecs:
    """Where things stand: each named spec, each element of a list that is written out, each function."""

    spec_lines: dict[str, int]
    element_lines: tuple[int, ...]
    handler_lines: dict[str, int]


NOTHING_DECLARED = DeclaredSpecs({}, (), {})


def declared_specs(tree: ast.Module) -> DeclaredSpecs:
    """Reads the places of specs and functions; the first of a name counts."""
    spec_lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            name = _written_name(node)
            if (
                name is not None
                and is_tool_name(name)
                and node.lineno < spec_lines.get(name, node.lineno + 1)
            ):
                spec_lines[name] = node.lineno
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return DeclaredSpecs(spec_lines, _element_lines(tree), {node.name: node.lineno for node in functions})


def specs_are_missing(tree: ast.Module) -> tuple[bool, str | None]:
    """Whether nothing in the module can make TOOL_SPECS, and the name that was perhaps meant for it."""
    assigned: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id == NAME or isinstance(node.ctx, ast.Store)):
            assigned.append(node.id)
        elif isinstance(node, ast.alias):
            assigned.append(node.asname or node.name)
        elif isinstance(node, ast.Constant) and node.value == NAME:
            return False, None
    if NAME in assigned or "*" in assigned:
        return False, None
    return True, near_miss(NAME, assigned)


def _element_lines(tree: ast.Module) -> tuple[int, ...]:
    """The line of each element, where TOOL_SPECS is one list or tuple that nothing is unpacked into."""
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if not any(isinstance(target, ast.Name) and target.id == NAME for target in targets):
            continue
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
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
