"""Imports packages in a zygote, so that its children share them.

A child must work as if it had imported the package itself. If that is not certain, the process ends and no child is
forked from it. A part of the package may be imported then, and a second import would find only that part.
"""

import _thread
import gc
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from toolrack_runner.child.home import Home, HomeError, read_home
from toolrack_runner.child.jail.confine import Confinement

#: Modules of a package that are imported with it, because importing them takes most of the time.
PARTS: Final = {
    # Pydantic imports them when they are first used. A child would need 25 ms for them.
    "pydantic": ("pydantic.dataclasses", "pydantic.functional_validators", "pydantic.type_adapter"),
    # It makes a list of all fonts, which takes 300 ms.
    "matplotlib": ("matplotlib.pyplot",),
}
#: How long a thread of a package may go on after the import.
THREAD_SECONDS: Final = 0.5
#: A package that keeps files open has one of these descriptors, because the kernel gives the lowest free one.
DESCRIPTORS_CHECKED: Final = 256
#: The characters of a reason in the log. It says why a package is imported in each call, and may come from the package.
REASON_CHARS_MAX: Final = 300


class UnfitError(Exception):
    """This process must not be forked from. It has the reason for each package that may have caused this."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__(reasons)
        self.reasons = {package: reason[:REASON_CHARS_MAX] for package, reason in reasons.items()}


def import_packages(
    packages: tuple[str, ...], confinement: Confinement, announce: Callable[[str], None]
) -> Home:
    """Imports the packages, each after `announce` was called with its name; returns what they wrote into their home.

    They have a home like that of a child. Raises UnfitError.
    """
    path = confinement.make_home()
    os.mkdir(Home().folders[0], 0o700)
    home = Home()
    try:
        for package in packages:
            announce(package)
            home = _import_one(package, path, confinement)
    finally:
        with suppress(OSError):
            os.chdir(path)
    try:
        confinement.remove_home(path)
    except OSError as error:
        reason = f"a file of its home is still in use ({error.strerror})"
        raise UnfitError(dict.fromkeys(packages, reason)) from None
    return home


def _import_one(package: str, path: str, confinement: Confinement) -> Home:
    open_before, halves_before = set(_open_descriptors()), _half_imported()
    try:
        imported = importlib.import_module(package)
        for part in PARTS.get(package, ()):
            importlib.import_module(part)
        if package == "pydantic":
            imported.TypeAdapter(
                int
            )  # The first one searches all installed packages for plug-ins of pydantic.
        home = read_home(path)
    except KeyboardInterrupt:
        raise
    except HomeError as error:
        raise UnfitError({package: str(error)}) from None
    except BaseException as error:  # noqa: BLE001 - a package may raise anything
        raise UnfitError({package: f"{type(error).__name__}: {error}"}) from None
    reason = None
    if halves := _half_imported() - halves_before:
        reason = f"it imports only a part of {min(halves).rpartition('.')[0]}"
    elif not _threads_end():
        reason = "it starts a thread"
    elif set(_open_descriptors()) - open_before:
        reason = "it keeps a file or a socket open"
    elif not confinement.is_home_at_one_path and _is_remembered(path):
        reason = "it remembers the path of its home"
    if reason is not None:
        raise UnfitError({package: reason})
    return home


def _half_imported() -> set[str]:
    """The modules whose package is not imported. A failed import leaves them, and a second one does not run them again."""
    return {name for name in sys.modules if "." in name and name.rpartition(".")[0] not in sys.modules}


def _threads_end() -> bool:
    """Whether this is soon the only thread that runs. A forked child has only this thread."""
    ends = time.monotonic() + THREAD_SECONDS
    while _thread._count():  # noqa: SLF001 - `threading` counts no threads of other libraries
        if time.monotonic() > ends:
            return False
        time.sleep(0.001)
    return True


def _open_descriptors() -> Iterator[int]:
    """The descriptors that are open. A child closes all of them."""
    for descriptor in range(DESCRIPTORS_CHECKED):
        with suppress(OSError):
            os.fstat(descriptor)
            yield descriptor


def _is_remembered(path: str) -> bool:
    """Whether a text in the memory of Python has the last part of this path, which nobody can guess."""
    # It remembers the folder that it has found, and looks for it again.
    tempfile.tempdir = None
    wanted = os.path.basename(path)
    named = ("HOME", "TMPDIR", "XDG_CACHE_HOME")
    known = {name: os.environ.pop(name) for name in named if name in os.environ}
    try:
        return any(wanted in text for text in _texts({id(path), id(wanted), *map(id, known.values())}))
    finally:
        os.environ.update(known)


def _texts(left_out: set[int]) -> Iterator[str]:
    """Every text that a container holds, except those with these ids."""
    seen = left_out
    pending: list[object] = gc.get_objects()
    while pending:
        for held in gc.get_referents(pending.pop()):
            if type(held) is str:
                if id(held) not in left_out:
                    yield held
            elif not gc.is_tracked(held) and id(held) not in seen:
                # The collector does not list containers that cannot be in a cycle.
                seen.add(id(held))
                pending.append(held)
