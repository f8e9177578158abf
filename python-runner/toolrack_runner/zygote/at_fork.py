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
_modules = sys.modules


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


with without_hooks():
    import threading

_main_thread = threading.main_thread()
_get_native_id = threading.get_native_id


def be_another_process() -> None:
    """In a child that was just forked: its chance numbers are its own, and its thread has its own number."""
    if (random := _modules.get("random")) is not None:
        Random.seed(random._inst)  # noqa: SLF001 - as its own hook does
    _main_thread._native_id = _get_native_id()  # type: ignore[attr-defined] # noqa: SLF001 - as its own hook does
