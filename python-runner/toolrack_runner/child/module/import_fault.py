"""The fault of a module whose import raised."""

import re
from typing import Final

from toolrack_runner.child.module.facts import is_a, missing_name
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.raised import denied, raised
from toolrack_runner.child.module.sibling_fault import sibling_fault
from toolrack_runner.child.module.user_traceback import exception_line, user_place, user_traceback
from toolrack_runner.distributions import distribution_of
from toolrack_runner.wire.fault import Fault, FaultKind, fault

_OPENING: Final = "# /// script"
_CLOSING: Final = "# ///"
_KEY: Final = re.compile(r"#[ \t]*dependencies[ \t]*=", re.ASCII)


def how_to_install(package: str, files: ModuleFiles) -> str:
    """Tells the author how to get a package that is missing, without a full stop. `package` is the name of the import."""
    name = distribution_of(package)
    opened, line = _head(files)
    if line:
        return f'Add "{name}" to `dependencies` in line {line} of {files.main}'
    if opened:
        return f"Add '# dependencies = [\"{name}\"]' to the head of the module, below line {opened} of {files.main}"
    return (
        "Name its package in `dependencies` in the head of the module, in three lines: "
        f"'# /// script', '# dependencies = [\"{name}\"]' and '# ///'. "
        "Or use the standard library, or ask the operator to add it to packages.txt"
    )


def _head(files: ModuleFiles) -> tuple[int, int]:
    """The lines that open the head and that begin its `dependencies`. 0 for each that is missing.

    The server process has read the head, and refuses one with faults.
    """
    opened = 0
    # These are the line breaks of Python, as for the reader of the head. `splitlines` knows others.
    text = files.texts.get(files.main, "").replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        if not opened:
            opened = number if line == _OPENING else 0
        elif not line.startswith("#") or line == _CLOSING:
            break
        elif _KEY.match(line):
            return opened, number
    return opened, 0


def import_fault(files: ModuleFiles, error: BaseException) -> Fault:
    """The fault for an exception that an import raised. It names the innermost line that is in the module. Never raises."""
    kind, sentence = _said(files, error)
    file, line = user_place(error, files)
    found = fault(kind, file, line, sentence)
    package = _package(error) if kind == "import_not_installed" else None
    return Fault(kind, found.message, found.line, user_traceback(error, files), package)


def _package(error: BaseException) -> str:
    """The top-level package that an import did not find; empty for any other error."""
    return (missing_name(error) or "").partition(".")[0]


def _said(files: ModuleFiles, error: BaseException) -> tuple[FaultKind, str]:
    code, _ = raised(error, files)
    if code == "MEMORY_LIMIT":
        sentence = "importing the module needs more memory than it may have. Load less, and inside a handler."
        return "import_memory", sentence
    if code == "DISK_LIMIT":
        sentence = "importing the module writes more than its disk quota. Write less, and inside a handler."
        return "import_disk", sentence
    if is_a(error, SystemExit):
        cure = "Remove the call, or put it under if __name__ == '__main__'"
        return "import_exited", f"importing the module calls exit(). {cure}."
    found = sibling_fault(files, error)
    if found is not None:
        return found
    package = _package(error)
    if package:
        sentence = f"the module imports '{package[:64]}', which is not installed here."
        return "import_not_installed", f"{sentence} {how_to_install(package[:64], files)}."
    hint = denied(error, files)
    if hint:
        return "import_denied", f"importing the module was refused ({exception_line(error)[:200]}). {hint}"
    cure = "Correct that line, or move code that may fail into a handler"
    said = exception_line(error)[:300]
    stop = "" if said.endswith((".", "?", "!")) else "."
    return "import_raised", f"importing the module raised {said}{stop} {cure}."
