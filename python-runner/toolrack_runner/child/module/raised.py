"""Makes the failure of a call when the module has raised an exception. If the jail has caused it, the failure has a hint."""

import errno
import os
import re

from toolrack_runner.child.module.facts import chain, errno_of, is_a, names_a_file, traceback_of
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.user_traceback import cut_middle, frames, user_place, user_traceback
from toolrack_runner.limits import ERROR_CHARS_MAX

PROCESSES = (
    "The sandbox starts no processes (no fork, no subprocess, no multiprocessing). "
    "Use threads (concurrent.futures.ThreadPoolExecutor), or do the work in Python."
)
NETWORK = "The sandbox has no network. Tools reach only the hosts that their spec names in 'network'."
FILES = (
    "The sandbox lets a tool read Python's own files and write in its working folder only "
    "(the current directory, or tempfile)."
)

DISK_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_DENIED = {errno.EPERM, errno.EACCES, errno.EAGAIN, errno.ENOSYS}
_FILE_DENIED = {errno.EPERM, errno.EACCES, errno.EROFS}
_TEMPFILE = re.compile(r"(?:^|/)tempfile\.py$")
_PROCESS_FILES = re.compile(
    r"(?:^|/)(?:subprocess|pty|multiprocessing/\w+|concurrent/futures/process|asyncio/base_subprocess)\.py$"
)
_PROCESS_CALLS = re.compile(r"\b(?:fork|forkpty|posix_spawnp?|exec[lv]p?e?|spawn\w*|system|popen|Popen)\s*\(")
_NETWORK_FILES = re.compile(r"(?:^|/)(?:socket|ssl|http/client|urllib/request|asyncio/selector_events)\.py$")
_NETWORK_CALLS = re.compile(r"\b(?:socket|create_connection|connect|bind|getaddrinfo|gethostbyname)\s*\(")


def raised(error: BaseException, files: ModuleFiles) -> tuple[str, str]:
    """The error code and the text for an exception of the module. Never raises, whatever the exception does."""
    file, line = user_place(error, files)
    at = f"{file}, line {line}" if line else file
    if is_a(error, MemoryError):
        return "MEMORY_LIMIT", f"{at}: the tool needs more memory than it may have. Work on less at a time."
    if is_a(error, OSError) and any(map(_found_no_room, chain(error))):
        sentence = (
            "the tool writes more than its disk quota, or too large a file. Write less, or delete old files."
        )
        return "DISK_LIMIT", f"{at}: {sentence}"
    if is_a(error, SystemExit):
        sentence = "the tool ended its process with exit(). Return a value, or raise an exception."
        return "TOOL_CRASHED", f"{at}: {sentence}"
    text = user_traceback(error, files)
    hint = denied(error, files)
    return "TOOL_RAISED", cut_middle(f"{text}\n{hint}" if hint else text, ERROR_CHARS_MAX + 500)


def _found_no_room(error: BaseException) -> bool:
    """Whether the reason for this exception is that the disk quota is used up."""
    if errno_of(error) in DISK_FULL:
        return True
    # `tempfile` tries several folders. If it can write to none, it raises FileNotFoundError.
    if not is_a(error, FileNotFoundError) or not any(
        _TEMPFILE.search(file) for file, _, _ in frames(traceback_of(error))
    ):
        return False
    room = os.statvfs(".")
    return room.f_bavail == 0 or room.f_favail == 0


def denied(error: BaseException, files: ModuleFiles) -> str | None:
    """A hint for the author, if the exception was raised because the jail denies something. Otherwise None."""
    for found in chain(error):
        if not is_a(found, OSError):
            continue
        number = errno_of(found)
        passed = [file for file, _, _ in frames(traceback_of(found))]
        source = files.line(*user_place(found, files))
        # If these libraries fail, it is because of processes, whatever the errno is: for example, they fail without
        # /dev/shm.
        if any(map(_PROCESS_FILES.search, passed)) or (number in _DENIED and _PROCESS_CALLS.search(source)):
            return PROCESSES
        # A negative number is an error code of getaddrinfo.
        is_network = any(map(_NETWORK_FILES.search, passed)) or _NETWORK_CALLS.search(source)
        if is_network and (number in _DENIED or (number is not None and number < 0)):
            return NETWORK
        if number in _FILE_DENIED and names_a_file(found):
            return FILES
    return None
