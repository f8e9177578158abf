"""Does in a child what two hooks of Python would do after a fork. The zygote registers no hooks (`zygote/preload.py`)."""

import sys
import threading
from _random import Random
from contextlib import suppress

_modules = sys.modules
_main_thread = threading.main_thread()
_get_native_id = threading.get_native_id


def be_another_process() -> None:
    """Seeds the random numbers of a child and notes the id of its thread. Runs in the child right after the fork."""
    if (random := _modules.get("random")) is not None:
        Random.seed(random._inst)  # noqa: SLF001 - as the hook of `random` does
    _main_thread._native_id = _get_native_id()  # type: ignore[attr-defined] # noqa: SLF001 - as the hook of `threading` does


def seed_numpy() -> None:
    """Seeds the random numbers of numpy, if the zygote has imported numpy. Runs in a confined child.

    Without a new seed, all children of the zygote would get the same numbers.
    """
    if (numbers := _modules.get("numpy.random")) is not None:
        with suppress(AttributeError):  # Another package can have this name.
            numbers.seed()
