"""What a child does itself after the fork, because the zygote registered no hooks (`zygote/preload.py`)."""

import sys
import threading
from _random import Random
from contextlib import suppress

_modules = sys.modules
_main_thread = threading.main_thread()
_get_native_id = threading.get_native_id


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
        with suppress(AttributeError):  # The module is another package with this name.
            numbers.seed()
