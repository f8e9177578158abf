"""Imports modules of the standard library before any child is forked, without the hooks that each forked child would run.

`threading`, `logging`, `random` and `concurrent.futures` register hooks that run in each child. The hooks took a tenth of a
child's processor time, because a child copies each page that they write. Most hooks repair locks and forget threads of the
parent. These are not needed, because a zygote has only one thread. `be_another_process` does the work of the other hooks.
"""

import importlib
import os
import sys
from _random import Random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_register = os.register_at_fork
_modules = sys.modules


@contextmanager
def without_hooks() -> Iterator[None]:
    """Imports in this `with` block register no hooks. Only for the standard library, which works without its hooks here."""
    os.register_at_fork = lambda **_hooks: None
    try:
        yield
    finally:
        os.register_at_fork = _register


with without_hooks():
    import threading

_main_thread = threading.main_thread()
_get_native_id = threading.get_native_id

#: Modules of the standard library that many tools import. They take 15 MB in a zygote and nothing in a child.
STANDARD = (
    *("asyncio", "base64", "collections", "dataclasses", "datetime", "decimal", "enum", "functools"),
    *("hashlib", "inspect", "itertools", "json", "math", "pathlib", "random", "re", "statistics"),
    *("string", "tempfile", "textwrap", "traceback", "typing", "urllib.parse", "urllib.request"),
    *("uuid", "zoneinfo"),
)


def be_another_process() -> None:
    """Runs in a child right after the fork: seeds its random numbers and notes the id of its thread."""
    if (random := _modules.get("random")) is not None:
        Random.seed(random._inst)  # noqa: SLF001 - as its own hook does
    _main_thread._native_id = _get_native_id()  # type: ignore[attr-defined] # noqa: SLF001 - as its own hook does


def seed_numpy() -> None:
    """Runs in a confined child: gives the random numbers of numpy a new seed, if the zygote has imported them.

    All children of the zygote would get the same numbers.
    """
    if (numbers := _modules.get("numpy.random")) is not None:
        with suppress(AttributeError):  # It is another package of this name.
            numbers.seed()


def preload_standard(names: tuple[str, ...]) -> None:
    """Imports these modules of the standard library without their hooks. A module that this Python lacks is left out."""
    with without_hooks():
        for name in names:
            with suppress(ImportError):
                importlib.import_module(name)
