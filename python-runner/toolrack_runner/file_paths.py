"""The rules for the files of a module that has several files, and the digest of these files.

`packages/contract/vectors/module-files.json` has test cases. The server process uses these functions too, so none of them
parses what is in a file.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from toolrack_runner.limits import (
    FILE_PATH_CHARS_MAX,
    FILES_BYTES_MAX,
    FILES_MAX,
    FOLDERS_MAX,
    SOURCE_BYTES_MAX,
)
from toolrack_runner.near_miss import did_you_mean
from toolrack_runner.wire.fault import Fault, FaultKind, fault

INIT = "__init__.py"
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_PATH = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*", re.ASCII)
_SHOWN_CHARS = 64


def files_fault(module: str, sizes: Mapping[str, int]) -> Fault | None:
    """The first fault of a set of files. None if a module may have them. `sizes` has the bytes of each file by path."""
    whole = f"{module}/"
    if len(sizes) > FILES_MAX:
        sentence = f"the module has {len(sizes)} files; at most {FILES_MAX} are allowed. Join some, or split the module."
        return fault("files_too_many", whole, None, sentence)
    for path in sizes:
        if len(path) > FILE_PATH_CHARS_MAX or not _PATH.fullmatch(path):
            return _path_fault(whole, path)
    for found in (_conflict(module, sizes), _size_fault(module, sizes)):
        if found is not None:
            return found
    if INIT not in sizes:
        sentence = f"there is no {INIT}{did_you_mean(INIT, sizes)} It is the file that exports TOOL_SPECS."
        return fault("init_missing", whole, None, sentence)
    return None


def digest_of(files: Mapping[str, bytes]) -> str:
    """The digest of several files: the sha256 of the canonical JSON (RFC 8785) of `[{"path", "sha256"}]`, sorted by path."""
    listed = [{"path": path, "sha256": hashlib.sha256(files[path]).hexdigest()} for path in sorted(files)]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def folders_of(path: str) -> Iterator[str]:
    """The folders that contain a file, the outermost first: `a` and `a/b` for `a/b/c.py`."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def module_paths(paths: Iterable[str]) -> dict[str, str]:
    """For each dotted name, the path of the file or folder that its import finds. The package itself has the empty name.

    A folder without `__init__.py` is a namespace package. If a file has the same name as a folder, the import finds the
    file.
    """
    found: dict[str, str] = {}
    paths = sorted(paths)
    for path in paths:
        for folder in folders_of(path):
            if "." not in folder:
                found.setdefault(folder.replace("/", "."), folder)
    for path in paths:
        stem = path.removesuffix(".py")
        if stem != path and "." not in stem:
            dotted = stem.replace("/", ".")
            found["" if path == INIT else dotted.removesuffix(".__init__")] = path
    return found


def _path_fault(whole: str, path: str) -> Fault:
    shown = path if path.isprintable() else ascii(path)
    if len(shown) > _SHOWN_CHARS:
        shown = f"{shown[:_SHOWN_CHARS]}…"
    rule = (
        f"A path is names joined by /, at most {FILE_PATH_CHARS_MAX} characters; a name has ASCII letters, digits, "
        "_, . and -, and starts with a letter, a digit or _"
    )
    return fault("path_invalid", whole, None, f"'{shown}' is no path of a file. {rule}. Rename the file.")


def _conflict(module: str, paths: Iterable[str]) -> Fault | None:
    """The fault of two files that some systems cannot have in one folder, or of which Python can import only one."""
    paths = sorted(paths)
    files = set(paths)
    folders = {folder for path in paths for folder in folders_of(path)}
    if len(folders) > FOLDERS_MAX:
        sentence = (
            f"the files lie in {len(folders)} folders; at most {FOLDERS_MAX} are allowed. Use fewer folders."
        )
        return fault("files_too_many", f"{module}/", None, sentence)
    seen: dict[str, str] = {}
    for name in (*paths, *sorted(folders)):
        other = seen.setdefault(name.lower(), name)
        if other != name:
            sentence = f"'{other}' differs from it in upper and lower case only. Rename one of them."
            return _conflict_fault(module, name, sentence)
        if name in files and name in folders:
            sentence = "this file has the name of a folder that holds other files. Rename one of them."
            return _conflict_fault(module, name, sentence)
    for path in paths:
        package = f"{path.removesuffix('.py')}/{INIT}"
        if path.endswith(".py") and package in files:
            return _conflict_fault(
                module, path, f"'{package}' has the same name for an import. Rename one of them."
            )
    return None


def _conflict_fault(module: str, path: str, sentence: str) -> Fault:
    kind: FaultKind = "path_conflict"
    return fault(kind, f"{module}/{path}", None, sentence)


def _size_fault(module: str, sizes: Mapping[str, int]) -> Fault | None:
    for path, size in sizes.items():
        if path.endswith(".py") and size > SOURCE_BYTES_MAX:
            sentence = f"the file is {size:,} bytes; a Python file may have {SOURCE_BYTES_MAX:,}. Split it."
            return fault("source_too_large", f"{module}/{path}", None, sentence)
    total = sum(sizes.values())
    if total > FILES_BYTES_MAX:
        sentence = f"the files have {total:,} bytes together; {FILES_BYTES_MAX:,} are allowed. Move data out of them."
        return fault("files_too_large", f"{module}/", None, sentence)
    return None
