"""From source text to a syntax tree or a code object, with a fault in place of whatever Python says about bad source."""

import ast
import warnings
from types import CodeType

from toolrack_runner.module.fault import Fault, ModuleFault, fault

_NESTED = "the source is nested too deeply for Python. Break up its longest expression, or move data out of the code."


def syntax_tree(module: str, text: str) -> ast.Module:
    """The syntax tree; executes nothing. Raises ModuleFault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, f"{module}.py")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ModuleFault(_syntax_fault(module, error)) from None


def code_object(module: str, text: str) -> CodeType:
    """The compiled module; executes nothing. Raises ModuleFault, also for what only the compiler sees."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, f"{module}.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ModuleFault(_syntax_fault(module, error)) from None


def _syntax_fault(module: str, error: Exception) -> Fault:
    if not isinstance(error, SyntaxError):
        return fault("source_too_nested", module, None, _NESTED)
    column = f" (column {error.offset})" if error.offset else ""
    said = (error.msg or "invalid syntax")[:300]
    return fault("syntax_error", module, error.lineno, f"Python can't read this{column}: {said}.")
