"""Checks the files that uv has installed, and removes those that Python would run at its start."""

import csv
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.packages.records import has_listed_names, rows_of
from toolrack_runner.server.packages.refusal import PackagesRefusedError
from toolrack_runner.server.packages.tree import entries_in, files_in, remove_tree

#: The names of modules that Python imports at its start.
_START_MODULES = ("sitecustomize", "usercustomize")
_CODE = (".py", ".so")
#: The most bytes of a RECORD. That of 30,000 files has 4 MB.
_RECORD_BYTES_MAX = 16 << 20
#: The most folders in the path of a file. Real packages have 15.
DEPTH_MAX = 50
#: The most characters of the path of a file. Real packages have 200. The system allows 4,096 characters, with the folders in
#: which the packages lie.
PATH_CHARACTERS_MAX = 1_000
_MODES = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


class Tidied(NamedTuple):
    #: The removed files that Python would have run at its start.
    start_files: tuple[str, ...]
    #: The names of the standard library that packages have too. Imports find the standard library first.
    hidden: tuple[str, ...]
    #: The names that can be imported.
    modules: frozenset[str]
    #: Whether the packages list all files, and no others.
    is_as_listed: bool


def tidy(folder: Path) -> Tidied:
    """Removes programs, lock files and start files. Raises PackagesRefusedError for a file that no package may have.

    Start files are removed, and not refused, because no `.pth` file runs in a child anyway, and many packages work without
    theirs.
    """
    require_short_paths(folder)
    (folder / ".lock").unlink(missing_ok=True)
    root = str(folder)
    installed = [os.path.relpath(entry.path, root) for entry in files_in(folder)]
    _remove(folder / "bin")
    started: list[str] = []
    modules: set[str] = set()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        first = entry.name.partition(".")[0]
        if entry.name.endswith(".pth") or first in _START_MODULES:
            started.append(entry.name)
            _remove(Path(entry.path))
        elif entry.is_dir(follow_symlinks=False):
            has_code = any(file.name.endswith(_CODE) for file in files_in(Path(entry.path)))
            modules |= {entry.name} if has_code else set()
        elif entry.name.endswith(_CODE):
            modules |= {first}
    modules = {name for name in modules if name.isidentifier() and name != "__pycache__"}
    hidden = tuple(sorted(modules & sys.stdlib_module_names))
    _check(folder)
    is_as_listed = has_listed_names(folder, installed)
    return Tidied(tuple(started), hidden, frozenset(modules), is_as_listed)


def require_short_paths(folder: Path) -> None:
    """Raises PackagesRefusedError for a path below a folder that is too deep or too long."""
    start = len(str(folder)) + 1
    for entry in entries_in(folder):
        path = entry.path[start:]
        if path.count("/") > DEPTH_MAX:
            raise _unsafe(path, f"lies in more than {DEPTH_MAX} folders")
        if len(path) > PATH_CHARACTERS_MAX:
            raise _unsafe(path, f"has a path of more than {PATH_CHARACTERS_MAX} characters")


def _check(folder: Path) -> None:
    root = str(folder)
    for entry in files_in(folder):
        path = os.path.relpath(entry.path, root)
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            # Links too: the files are read by hash and by path, and no wheel has links.
            raise _unsafe(path, "is no file")
        if mode & _MODES:
            raise _unsafe(path, "would run with the rights of another user")
        if not path.isprintable():
            raise _unsafe(path, "has a name with unprintable characters")
        if entry.name == "RECORD" and path.count("/") == 1:
            if entry.stat().st_size > _RECORD_BYTES_MAX:
                raise _unsafe(path, "is too large")
            try:
                _check_record(Path(entry.path))
            except csv.Error:
                raise _unsafe(path, "is no table") from None


def _check_record(record: Path) -> None:
    """Every file that a package says it has lies in the environment."""
    for path, _ in rows_of(record):
        if os.path.isabs(path) or ".." in path.split("/"):
            raise _unsafe(path, "lies outside of the environment")


def _unsafe(path: str, why: str) -> PackagesRefusedError:
    sentence = f"a package has the file {path[:200]!r}, which {why}. Ask for another package."
    return PackagesRefusedError("packages_unsafe", sentence)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
