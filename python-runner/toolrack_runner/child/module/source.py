"""The name of a module, and the text, the syntax tree and the code of a Python file. No file is executed here."""

import ast
import re
import sys
import warnings
from keyword import iskeyword
from types import CodeType
from typing import cast

from toolrack_runner.child.module import toolrack_module
from toolrack_runner.child.module.environment import is_in_environment
from toolrack_runner.limits import MODULE_NAME_MAX, SOURCE_BYTES_MAX
from toolrack_runner.wire.fault import Fault, ModuleError, module_error

_OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK_OR_COMMENT = re.compile(r"^[ \t\f]*(?:#|$)")
_UTF8_NAMES = {"utf-8", "utf8", "utf_8", "u8", "utf-8-sig", "utf_8_sig"}
#: The runner's own package. In a child, Python's import system does not find it, because the jail hides its files.
_RUNNER = __name__.partition(".")[0]
_NESTED = "the source is nested too deeply for Python. Break up its longest expression, or move data out of the code."


def check_module_name(name: str, packages: str = "") -> None:
    """Raises ModuleError if a module cannot have this name. Imports nothing.

    A module is imported under its name, so no installed package may have the same one, and none of its environment, which
    is in the folder `packages`.
    """
    if not (name.isascii() and name.isidentifier() and len(name) <= MODULE_NAME_MAX) or iskeyword(name):
        rule = f"1 to {MODULE_NAME_MAX} ASCII letters, digits and _, not starting with a digit, and no Python keyword"
        shown = f"{name}.py" if name.isprintable() and len(name) <= MODULE_NAME_MAX else "the file"
        message = f"{shown}: this is no module name ({rule}). Rename the file."
        raise ModuleError(Fault("module_name_invalid", message))
    if name.startswith("__"):
        sentence = "names that start with __ are reserved for Python. Rename the file."
        raise module_error("module_name_invalid", name, None, sentence)
    if name == toolrack_module.NAME:
        sentence = f"'{name}' is the name of the module that the runner gives to tools. Rename it, as in my_tools.py."
        raise module_error("module_name_taken", name, None, sentence)
    if name in sys.stdlib_module_names or name == _RUNNER or is_available(name, packages):
        owner = "Python's standard library" if name in sys.stdlib_module_names else "an installed package"
        if owner == "an installed package" and is_in_environment(name, packages):
            owner = "a package that the dependencies of the module install"
        sentence = f"'{name}' is the name of {owner}, which the file would hide. Rename it, for example to {name}_tools.py."
        raise module_error("module_name_taken", name, None, sentence)


def is_available(package: str, packages: str = "") -> bool:
    """True if `import package` finds something in this process or in the folder `packages`. Imports nothing.

    Asks the finders. A name in `sys.modules` proves nothing, because it may belong to an uploaded module. The module that
    the runner gives to tools has no finder.
    """
    if package == toolrack_module.NAME or is_in_environment(package, packages):
        return True
    return any(finder.find_spec(package, None) is not None for finder in sys.meta_path)


def source_text(file: str, source: bytes) -> str:
    """The text of a Python file. Raises ModuleError if Python could not read the file as UTF-8."""
    if len(source) > SOURCE_BYTES_MAX:
        sentence = f"the file is {len(source):,} bytes; a module may have {SOURCE_BYTES_MAX:,}. Split it."
        raise module_error("source_too_large", file, None, sentence)
    text = utf8_text(file, source).removeprefix("\ufeff")
    _refuse_cookie(file, text)
    return text


def utf8_text(file: str, source: bytes) -> str:
    """The text of a file, with its byte order mark if there is one. Raises ModuleError if the file is not UTF-8 text."""
    for bom, encoding in _OTHER_BOMS.items():
        if source.startswith(bom):
            raise module_error("source_not_utf8", file, 1, f"the file is {encoding}. Save it as UTF-8.")
    nul = source.find(b"\0")
    if nul >= 0:
        line = _line_at(source, nul)
        raise module_error("source_has_nul", file, line, "the file holds a NUL byte. Remove it.")
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        sentence = f"byte 0x{source[error.start]:02X} is not UTF-8. Save the file as UTF-8."
        raise module_error("source_not_utf8", file, _line_at(source, error.start), sentence) from None


def syntax_tree(file: str, text: str) -> ast.Module:
    """The syntax tree. Raises ModuleError."""
    return cast("ast.Module", _compiled(file, text, ast.PyCF_ONLY_AST))


def code_object(file: str, text: str) -> CodeType:
    """Compiles a file. Raises ModuleError, also for faults that only the compiler finds."""
    return cast("CodeType", _compiled(file, text))


def _compiled(file: str, text: str, flags: int = 0) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, file, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        column = f" (column {error.offset})" if error.offset else ""
        said = (error.msg or "invalid syntax")[:300]
        sentence = f"Python can't read this{column}: {said}."
        raise module_error("syntax_error", file, error.lineno, sentence) from None
    except (ValueError, RecursionError, MemoryError):
        raise module_error("source_too_nested", file, None, _NESTED) from None


def _refuse_cookie(file: str, text: str) -> None:
    """Refuses a line such as `# coding: latin-1` where Python reads it: line 1, or 2 if line 1 is blank or a comment."""
    for number, line in enumerate(text.split("\n", 2)[:2], start=1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower() not in _UTF8_NAMES:
            sentence = f"the coding line says {cookie[1][:32]}, but modules are UTF-8. Remove the line and save as UTF-8."
            raise module_error("source_not_utf8", file, number, sentence)
        if not _BLANK_OR_COMMENT.match(line):
            return


def _line_at(source: bytes, offset: int) -> int:
    return len((source[:offset] + b".").splitlines())
