"""What the jail's refusal means, in words that a tool's author can act on."""

import errno
import re
from collections.abc import Sequence

from toolrack_runner.module.exception_facts import chain, errno_of, is_a, names_a_file, traceback_of
from toolrack_runner.module.user_traceback import frames, user_line

PROCESSES = (
    "The sandbox starts no processes (no fork, no subprocess, no multiprocessing). "
    "Use threads (concurrent.futures.ThreadPoolExecutor), or do the work in Python."
)
NETWORK = "The sandbox has no network. Tools reach only the hosts that their spec names in 'network'."
FILES = (
    "The sandbox lets a tool read Python's own files and write in its working folder only "
    "(the current directory, or tempfile)."
)

_REFUSALS = {errno.EPERM, errno.EACCES, errno.EAGAIN, errno.ENOSYS}
_FILE_REFUSALS = {errno.EPERM, errno.EACCES, errno.EROFS}
_PROCESS_FILES = re.compile(
    r"(?:^|/)(?:subprocess|pty|multiprocessing/\w+|concurrent/futures/process|asyncio/base_subprocess)\.py$"
)
_PROCESS_CALLS = re.compile(r"\b(?:fork|forkpty|posix_spawnp?|exec[lv]p?e?|spawn\w*|system|popen|Popen)\s*\(")
_NETWORK_FILES = re.compile(r"(?:^|/)(?:socket|ssl|http/client|urllib/request|asyncio/selector_events)\.py$")
_NETWORK_CALLS = re.compile(r"\b(?:socket|create_connection|connect|bind|getaddrinfo|gethostbyname)\s*\(")


def denied(error: BaseException, module_file: str, lines: Sequence[str]) -> str | None:
    """What the jail refused, where that is what led to the exception; else None."""
    for found in chain(error):
        if is_a(found, OSError):
            sentence = _sentence(found, module_file, lines)
            if sentence:
                return sentence
    return None


def _sentence(error: BaseException, module_file: str, lines: Sequence[str]) -> str | None:
    number = errno_of(error)
    files = [file for file, _, _ in frames(traceback_of(error))]
    line = user_line(error, module_file)
    source = lines[line - 1] if line and line <= len(lines) else ""
    # These libraries meet other refusals too, such as the lack of /dev/shm, and want processes whatever they meet.
    if any(_PROCESS_FILES.search(file) for file in files):
        return PROCESSES
    if number in _REFUSALS and _PROCESS_CALLS.search(source):
        return PROCESSES
    # Below zero are the numbers of getaddrinfo.
    is_network = any(_NETWORK_FILES.search(file) for file in files) or _NETWORK_CALLS.search(source)
    if is_network and (number in _REFUSALS or (number is not None and number < 0)):
        return NETWORK
    return FILES if number in _FILE_REFUSALS and names_a_file(error) else None
