"""The file of a module: which names it may have, and its text, syntax tree and code. Nothing here executes it."""

import ast
import re
import sys
import warnings
from collections.abc import Callable
from keyword import iskeyword
from types import CodeType
from typing import TypeVar

from toolrack_runner.limits import MODULE_NAME_MAX, SOURCE_BYTES_MAX
from toolrack_runner.module.fault import Fault, ModuleError, fault

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK_OR_COMMENT = re.compile(r"^[ \t\f]*(?:#|$)")
_UTF8_NAMES = {"utf-8", "utf8", "utf_8", "u8", "utf-8-sig", "utf_8_sig"}
_NESTED = "the source is nested too deeply for Python. Break up its longest expression, or move data out of the code."


def module_name_fault(name: str) -> Fault | None:
    """Why a module cannot have this name; None if it can.

    A module is imported under its name, beside all installed packages. Imports nothing to find out.
    """
    if not (name.isascii() and name.isidentifier() and len(name) <= MODULE_NAME_MAX) or iskeyword(name):
        rule = f"1 to {MODULE_NAME_MAX} ASCII letters, digits and _, not starting with a digit, and no Python keyword"
        shown = name if name.isprintable() and len(name) <= MODULE_NAME_MAX else "the file"
        return Fault("module_name_invalid", f"{shown}: this is no module name ({rule}). Rename the file.")
    if name.startswith("__"):
        sentence = "names that start with __ are reserved for Python. Rename the file."
        return fault("module_name_invalid", name, None, sentence)
    if name in sys.stdlib_module_names or is_available(name):
        owner = "Python's standard library" if name in sys.stdlib_module_names else "an installed package"
        sentence = f"'{name}' is the name of {owner}, which the file would hide. Rename it, for example to {name}_tools.py."
        return fault("module_name_taken", name, None, sentence)
    return None


def is_available(package: str) -> bool:
    """True if `import package` would find something here. Imports nothing to find out.

    It asks the finders and not `sys.modules`: there, the name may belong to an uploaded module.
    """
    return any(finder.find_spec(package, None) is not None for finder in sys.meta_path)


def source_text(module: str, source: bytes) -> str:
    """The text of a module. Raises ModuleError if Python could not read the file as UTF-8."""
    found = _file_fault(module, source)
    if found:
        raise ModuleError(found)
    return source.removeprefix(_BOM).decode("utf-8")


def syntax_tree(module: str, text: str) -> ast.Module:
    """The syntax tree. Raises ModuleError."""
    return _parsed(module, lambda: ast.parse(text, f"{module}.py"))


def code_object(module: str, text: str) -> CodeType:
    """The compiled module. Raises ModuleError, also for faults that only the compiler finds."""
    return _parsed(module, lambda: compile(text, f"{module}.py", "exec", dont_inherit=True))


def _parsed(module: str, parse: Callable[[], T]) -> T:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse()
    except SyntaxError as error:
        column = f" (column {error.offset})" if error.offset else ""
        said = (error.msg or "invalid syntax")[:300]
        sentence = f"Python can't read this{column}: {said}."
        raise ModuleError(fault("syntax_error", module, error.lineno, sentence)) from None
    except (ValueError, RecursionError, MemoryError):
        raise ModuleError(fault("source_too_nested", module, None, _NESTED)) from None


def _file_fault(module: str, source: bytes) -> Fault | None:
    if len(source) > SOURCE_BYTES_MAX:
        sentence = f"the file is {len(source):,} bytes; a module may have {SOURCE_BYTES_MAX:,}. Split it."
        return fault("source_too_large", module, None, sentence)
    for bom, encoding in _OTHER_BOMS.items():
        if source.startswith(bom):
            return fault("source_not_utf8", module, 1, f"the file is {encoding}. Save it as UTF-8.")
    nul = source.find(b"\0")
    if nul >= 0:
        return fault("source_has_nul", module, _line_at(source, nul), "the file holds a NUL byte. Remove it.")
    try:
        text = source.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + (len(_BOM) if source.startswith(_BOM) else 0)
        sentence = f"byte 0x{source[offset]:02X} is not UTF-8. Save the file as UTF-8."
        return fault("source_not_utf8", module, _line_at(source, offset), sentence)
    return _cookie_fault(module, text)


def _cookie_fault(module: str, text: str) -> Fault | None:
    """The fault of a line such as `# coding: latin-1`: in the first line, or in the second after a comment."""
    for number, line in enumerate(text.split("\n", 2)[:2], start=1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower() not in _UTF8_NAMES:
            sentence = f"the coding line says {cookie[1][:32]}, but modules are UTF-8. Remove the line and save as UTF-8."
            return fault("source_not_utf8", module, number, sentence)
        if not _BLANK_OR_COMMENT.match(line):
            return None
    return None


def _line_at(source: bytes, offset: int) -> int:
    before = source[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1
