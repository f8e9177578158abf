"""Reads a file that a tool returns. Only a regular file in the child's working folder is read.

This is against mistakes of the author. The jail decides what a tool may read, and a tool could return its bytes as well.
"""

import errno
import os
import stat
from typing import Final

from toolrack_runner.child.module.result_errors import ContentTooLargeError, ResultError
from toolrack_runner.child.module.secrets_of_call import shortened
from toolrack_runner.wire.content import CONTENT_BYTES_MAX

#: A FIFO without a writer, and some devices, would block `open` and `read` without O_NONBLOCK.
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: How many bytes are read at once.
_READ_BYTES: Final = 1 << 20
#: The most characters of a name that an error shows. The rest is cut.
_SHOWN_CHARS_MAX: Final = 100
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

# A module may replace these names.
_open, _fstat, _read, _close, _realpath = os.open, os.fstat, os.read, os.close, os.path.realpath


def read_own_file(path: str, folder: str, used_bytes: int) -> bytes:
    """The bytes of a file, which must lie in this folder. `used_bytes` is how much content the result already has.

    Reads at most as many bytes as the file had when it was opened, even if it grows. Raises ResultError, and
    ContentTooLargeError before anything of a file that is too large is read.
    """
    try:
        descriptor = _open(_place(path, folder), _FLAGS)
    except ValueError:
        raise _no_file(path, "is no path") from None
    except OSError as error:
        raise _no_file(path, _why(error)) from None
    try:
        found = _fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "no regular file")
            raise _no_file(path, f"is {kind}; return a regular file")
        if found.st_size > CONTENT_BYTES_MAX - used_bytes:
            raise ContentTooLargeError(
                f"the file {_shown(path)} of {found.st_size} bytes{_with(used_bytes)}, "
                f"and {CONTENT_BYTES_MAX} bytes of images and files are allowed"
            )
        return _content(descriptor, found.st_size)
    except OSError as error:
        raise _no_file(path, _why(error)) from None
    finally:
        _close(descriptor)


def _place(path: str, folder: str) -> str:
    """The path, with the links of its folders resolved. Raises ResultError if it is not below `folder`."""
    above, _, name = path.rpartition("/")
    real, root = _realpath(above or "/"), _realpath(folder)
    if real != root and not real.startswith(f"{root}/"):
        raise _no_file(path, "is not in the working folder of the tool; copy it there")
    return f"{real}/{name}"


def _content(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        part = _read(descriptor, min(missing, _READ_BYTES))
        if not part:  # The file has become shorter.
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _why(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "does not exist"
        case errno.ELOOP:
            return "is a link; return the file itself"
        case errno.ENXIO:
            return "is a socket or a device; return a regular file"
        case _:
            return f"can't be read ({error.strerror})"


def _no_file(path: str, why: str) -> ResultError:
    return ResultError(f"the result has the file {_shown(path)}, which {why}")


def _with(used_bytes: int) -> str:
    return f" after {used_bytes} bytes of others" if used_bytes else ""


def _shown(path: str) -> str:
    return repr(shortened(path.rpartition("/")[2], _SHOWN_CHARS_MAX, "…"))
