"""What the jail's refusal means, in words that a tool's author can act on."""

import errno
import re
from collections.abc import Sequence

from toolrack_runner.module.exception_facts import errno_of, names_a_file, traceback_of
from toolrack_runner.module.user_traceback import frames, user_line

PROCESSES = (
    "The sandbox starts no processes (no fork, no subprocess, no multiprocessing). "
    "Use threads, or do the work in Python."
)
NETWORK = "The sandbox has no network. Tools reach only the hosts that their spec names in 'network'."
FILES = (
    "The sandbox lets a tool read Python's own files and write in its working folder only "
    "(the current directory, or tempfile)."
)

_REFUSALS = {errno.EPERM, errno.EACCES, errno.EAGAIN, errno.ENOSYS}
_PROCESS_FILES = re.compile(
    r"(?:^|/)(?:subprocess|pty|multiprocessing/\w+|concurrent/futures/process|asyncio/base_subprocess)\.py$"
)
_PROCESS_CALLS = re.compile(r"\b(?:fork|forkpty|posix_spawnp?|exec[lv]p?e?|spawn\w*|system|popen|Popen)\s*\(")
_NETWORK_FILES = re.compile(r"(?:^|/)(?:socket|ssl|http/client|urllib/request|asyncio/selector_events)\.py$")
_NETWORK_CALLS = re.compile(r"\b(?:socket|create_connection|connect|bind)\s*\(")


def denied(error: BaseException, module_file: str, lines: Sequence[str]) -> str | None:
    """What the operating system refused, where the exception says that it was the jail; else None."""
    number = errno_of(error)
    if number not in _REFUSALS:
        return None
    files = [file for file, _, _ in frames(traceback_of(error))]
    line = user_line(error, module_file)
    source = lines[line - 1] if line and line <= len(lines) else ""
    if any(_PROCESS_FILES.search(file) for file in files) or _PROCESS_CALLS.search(source):
        return PROCESSES
    if any(_NETWORK_FILES.search(file) for file in files) or _NETWORK_CALLS.search(source):
        return NETWORK
    return FILES if number != errno.EAGAIN and names_a_file(error) else None
