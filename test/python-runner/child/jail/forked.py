"""Runs an action in a forked child and brings back what it saw."""

import errno
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

#: A child that hangs ends itself after this; nothing here takes a tenth of it.
SECONDS_MAX = 20


@dataclass(frozen=True)
class Ended:
    """What the action returned (as JSON), or how its process ended: an exit code, or a signal as its negative."""

    value: object
    code: int


def fork(action: Callable[[int], object], *, seconds_max: int = SECONDS_MAX) -> Ended:
    """The action gets the descriptor of its answer, and must not close it.

    An OSError of the action comes back as the name of its errno, anything else that is raised as its text.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds_max)
        try:
            value = action(writing)
        except OSError as error:
            value = errno.errorcode.get(error.errno or 0, repr(error))
        except BaseException as error:  # noqa: BLE001 - the parent's assertion shows it
            value = f"raised {error!r}"
        os.write(writing, json.dumps(value).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Ended(json.loads(text) if text else None, code)


def in_child(action: Callable[[int], object]) -> object:
    """The value of an action whose process must end well."""
    ended = fork(action)
    assert ended.code == 0, f"the child ended with {ended.code}"
    return ended.value
