"""Imports that are done once, before any child is forked, without the hooks that a forked child would run.

The standard library registers hooks that repair a forked child, and a child copies each page that they touch: those of
`threading`, `logging`, `random` and `concurrent.futures` cost a child a tenth of its processor time. They repair locks that
another thread may have held, and forget threads that are gone. A zygote has one thread; the rest is done in
`be_another_process`.
"""

import importlib
import os
import sys
from _random import Random
from collections.abc import Iterator
from contextlib import contextmanager

_register = os.register_at_fork
_modules = sys.modules


@contextmanager
def without_hooks() -> Iterator[None]:
    """Imports within it register no hook. Only for the standard library, which is known to need none."""
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

#: Modules of the standard library that tools commonly import; they cost a zygote 15 MB and a child nothing.
STANDARD = (
    *(
        "asyncio",
        "base64",
        "collections",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "functools",
        "hashlib",
    ),
    *("inspect", "itertools", "json", "math", "pathlib", "random", "re", "statistics", "string", "tempfile"),
    *("textwrap", "traceback", "typing", "urllib.parse", "urllib.request", "uuid", "zoneinfo"),
)
#: Numeric libraries start a thread for each core when they are imported, and a process with threads cannot be forked safely.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def be_another_process() -> None:
    """In a child that was just forked: seeds its random numbers, and notes the id of its thread."""
    if (random := _modules.get("random")) is not None:
        Random.seed(random._inst)  # noqa: SLF001 - as its own hook does
    _main_thread._native_id = _get_native_id()  # type: ignore[attr-defined] # noqa: SLF001 - as its own hook does


def preload_standard(names: tuple[str, ...]) -> None:
    """Imports these modules of the standard library."""
    with without_hooks():
        preload(names)


def preload(packages: tuple[str, ...]) -> dict[str, str]:
    """Imports the packages; returns the reason for each that cannot be imported."""
    for name in SINGLE_THREADED:
        os.environ[name] = "1"
    failed: dict[str, str] = {}
    for package in packages:
        try:
            importlib.import_module(package)
        except Exception as error:  # noqa: BLE001 - a package may raise anything
            failed[package] = f"{type(error).__name__}: {error}"
    return failed
