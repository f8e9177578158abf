"""Imports packages in a zygote, so that its children share them.

A child must work as if it had imported the package itself. If that is not certain, the zygote ends, and no child is forked
from it. It cannot go on, because the package may be imported only partly, and a second import would find only this part.
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

#: For a package, modules of it that are imported too, because importing them takes most of the time.
PARTS: Final = {
    # Pydantic imports them when they are first used. A child would need 25 ms for them.
    "pydantic": ("pydantic.dataclasses", "pydantic.functional_validators", "pydantic.type_adapter"),
    # This import makes a list of all fonts, which takes 300 ms.
    "matplotlib": ("matplotlib.pyplot",),
}
#: How long a thread of a package may go on after the import.
THREAD_SECONDS: Final = 0.5
#: How many descriptors are checked, from 0 on. The kernel gives a file the lowest free number, so the open files of a
#: package are among them.
DESCRIPTORS_CHECKED: Final = 256
#: The most characters of a reason in the log. The package may have written the text of the reason.
REASON_CHARS_MAX: Final = 300


class UnfitError(Exception):
    """No child may be forked from this process. `reasons` has the reason for each package that may have caused this."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__(reasons)
        self.reasons = {package: reason[:REASON_CHARS_MAX] for package, reason in reasons.items()}


def import_packages(
    packages: tuple[str, ...], confinement: Confinement, announce: Callable[[str], None]
) -> Home:
    """Imports the packages, and returns the files that they have written into their home. Raises UnfitError.

    Before each import, calls `announce` with the name of the package. The packages have a home like that of a child.
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
            )  # The first TypeAdapter searches all installed packages for plug-ins of pydantic.
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
    """The modules whose package failed to import. They are left in memory, and a second import would not run them again."""
    return {name for name in sys.modules if "." in name and name.rpartition(".")[0] not in sys.modules}


def _threads_end() -> bool:
    """Waits for the end of all other threads, because a forked child does not have them. False after THREAD_SECONDS."""
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
    """Whether a text in Python's memory contains the last part of this path, which nobody can guess."""
    # `tempfile` has stored its folder here. Now it will search for the folder again.
    tempfile.tempdir = None
    wanted = os.path.basename(path)
    named = ("HOME", "TMPDIR", "XDG_CACHE_HOME")
    known = {name: os.environ.pop(name) for name in named if name in os.environ}
    try:
        return any(wanted in text for text in _texts({id(path), id(wanted), *map(id, known.values())}))
    finally:
        os.environ.update(known)


def _texts(left_out: set[int]) -> Iterator[str]:
    """All texts in containers, except those with these ids."""
    seen = left_out
    pending: list[object] = gc.get_objects()
    while pending:
        for held in gc.get_referents(pending.pop()):
            if type(held) is str:
                if id(held) not in left_out:
                    yield held
            elif not gc.is_tracked(held) and id(held) not in seen:
                # `gc.get_objects` does not return containers that cannot be in a cycle.
                seen.add(id(held))
                pending.append(held)
