"""Imports modules of the standard library before any child is forked, without the hooks that would run in each child.

`threading`, `logging`, `random` and `concurrent.futures` register hooks that run after a fork. They took a tenth of a
child's processor time, because a child copies each page to which they write. Most hooks repair locks and forget threads of
the parent. This is not needed, because a zygote has only one thread. `child/another_process.py` does what the other hooks
would do.
"""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_register = os.register_at_fork


@contextmanager
def without_hooks() -> Iterator[None]:
    """Imports in the `with` block register no hooks. Only for the standard library, which does not need its hooks here."""
    os.register_at_fork = lambda **_hooks: None
    try:
        yield
    finally:
        os.register_at_fork = _register


#: Modules of the standard library that many tools import. They take 15 MB in a zygote and nothing in a child.
STANDARD = (
    *("asyncio", "base64", "collections", "dataclasses", "datetime", "decimal", "enum", "functools"),
    *("hashlib", "inspect", "itertools", "json", "math", "pathlib", "random", "re", "statistics"),
    *("string", "tempfile", "textwrap", "traceback", "typing", "urllib.parse", "urllib.request"),
    *("uuid", "zoneinfo"),
)


def preload_standard(names: tuple[str, ...]) -> None:
    """Imports these modules of the standard library without their hooks. A module that this Python lacks is left out."""
    with without_hooks():
        for name in names:
            with suppress(ImportError):
                importlib.import_module(name)
