"""What the standard library repairs in a forked child, without the hooks that it registers for that.

A hook runs in every child, and a child copies each page that it touches: those of `threading`, `logging`, `random` and
`concurrent.futures` cost a child a tenth of its processor time. They repair locks that another thread may have held and
forget threads that are no more; a zygote has one thread. What is left is done here, by hand.
"""

import os
import sys
from _random import Random
from collections.abc import Iterator
from contextlib import contextmanager

_register = os.register_at_fork


@contextmanager
def without_hooks() -> Iterator[None]:
    """Imports within it register no hook; only for what is known to need none, which is the standard library."""
    os.register_at_fork = _ignore
    try:
        yield
    finally:
        os.register_at_fork = _register


def _ignore(**_hooks: object) -> None:
    pass


def be_another_process() -> None:
    """In a child that was just forked: its chance numbers are its own, and its thread has its own number."""
    if (random := sys.modules.get("random")) is not None:
        Random.seed(random._inst)  # noqa: SLF001 - as its own hook does
    if (threading := sys.modules.get("threading")) is not None:
        threading.main_thread()._set_native_id()  # noqa: SLF001 - as its own hook does
