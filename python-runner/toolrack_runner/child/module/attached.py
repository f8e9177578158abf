"""Writes the files of a call's arguments into the working folder, before the handler gets their paths.

The server process has checked the files. The module may have run before, but it can only harm its own call.
"""

import os
import re
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolrack_runner.wire.frames import JsonObject

#: The folder of the files. No module has a name that begins with a dot, so no folder of a module is in the way.
FOLDER: Final = ".attached"
#: What a name keeps: letters, digits and a few signs of any language. Everything else becomes `_`.
_NOT_SAFE: Final = re.compile(r"[^\w.,+@() -]")
#: The most bytes of a name. Linux allows 255, and a tool may want to make a name that is a little longer.
_NAME_BYTES_MAX: Final = 200
#: The most bytes of what counts as the end of a name. A longer one is no kind of a file.
_END_BYTES_MAX: Final = 20
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# A module may replace these names.
_open, _write, _close, _mkdir = os.open, os.write, os.close, os.mkdir


def with_files(arguments: JsonObject, attached: Sequence[Mapping[str, str]], folder: str) -> JsonObject:
    """Writes each file into a folder of its own below `folder`, and puts its path in place of the argument.

    Changes and returns the arguments. Raises OSError if the files do not fit into the quota.
    """
    if not attached:
        return arguments
    _mkdir(f"{folder}/{FOLDER}", 0o700)
    for number, file in enumerate(attached, start=1):
        own = f"{folder}/{FOLDER}/{number}"
        _mkdir(own, 0o700)
        path = f"{own}/{safe_name(file['name'])}"
        _write_file(path, a2b_base64(file["data"]))
        _put(arguments, file["pointer"], path)
    return arguments


def safe_name(name: str) -> str:
    """A name for a file that keeps as much of the given name as is safe, and its end, such as `.csv`."""
    plain = _NOT_SAFE.sub("_", name.encode("utf-8", "replace").decode()).strip(" ").lstrip(".-")
    first, dot, end = plain.rpartition(".")
    if not dot or len(end.encode()) > _END_BYTES_MAX:
        first, dot, end = plain, "", ""
    room = _NAME_BYTES_MAX - len(f"{dot}{end}".encode())
    return (first.encode()[:room].decode(errors="ignore") or "file") + dot + end


def _write_file(path: str, data: bytes) -> None:
    descriptor = _open(path, _FLAGS, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[_write(descriptor, rest) :]
    finally:
        _close(descriptor)


def _put(arguments: Any, pointer: str, path: str) -> None:
    """Replaces the value at a JSON Pointer, which leads to a value."""
    *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    for step in steps:
        arguments = arguments[int(step) if type(arguments) is list else step]
    arguments[int(last) if type(arguments) is list else last] = path
