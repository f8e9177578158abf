"""What an exception of the module means: the code of its outcome and the text that goes with it."""

import errno
from collections.abc import Sequence
from dataclasses import dataclass

from toolrack_runner.module.denied import denied
from toolrack_runner.module.exception_facts import errno_of, is_a
from toolrack_runner.module.limits import ERROR_CHARS_MAX
from toolrack_runner.module.user_traceback import cut_middle, user_line, user_traceback

_DISK_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception told as an outcome."""

    code: str
    text: str
    line: int | None


def raised(error: BaseException, module: str, lines: Sequence[str]) -> Raised:
    """Tells whose fault an exception is; never raises, whatever the exception does."""
    file = f"{module}.py"
    line = user_line(error, file)
    at = f"{file}, line {line}" if line else file
    if is_a(error, MemoryError):
        return Raised(
            "MEMORY_LIMIT",
            f"{at}: the tool needs more memory than it may have. Work on less at a time.",
            line,
        )
    if errno_of(error) in _DISK_FULL:
        sentence = "the tool writes more than its disk quota, or too large a file. Write less, or delete what is done with."
        return Raised("DISK_LIMIT", f"{at}: {sentence}", line)
    if is_a(error, SystemExit):
        return Raised(
            "TOOL_CRASHED",
            f"{at}: the tool ended its process with exit(). Return a value, or raise an exception.",
            line,
        )
    text = user_traceback(error, file, lines)
    hint = denied(error, file, lines)
    return Raised("TOOL_RAISED", cut_middle(f"{text}\n{hint}" if hint else text, ERROR_CHARS_MAX + 500), line)
