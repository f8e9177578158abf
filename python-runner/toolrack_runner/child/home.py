"""What packages wrote into the home of the zygote that imported them, and its copy in the home of each child.

A package may have read its own files at its import and need them later, for example a list of fonts.
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolrack_runner.child.jail.workplace import CACHE

#: How many files and folders packages may leave in their home. Each child gets a copy, which takes room of its disk quota.
FILES_MAX: Final = 64
#: The same for the bytes of these files.
BYTES_MAX: Final = 1 << 20


class HomeError(Exception):
    """Packages wrote something into the home that is not copied for each child."""


@dataclass(frozen=True, slots=True)
class Home:
    """The content of a home. All paths are relative to it, and a folder comes before what it holds."""

    folders: tuple[str, ...] = (CACHE,)
    files: tuple[tuple[str, bytes], ...] = ()

    def fill(self) -> None:
        """Writes the content into the current directory, which is the empty home of a child."""
        for folder in self.folders:
            # Without namespaces, a child whose files could not be removed may have left the folder.
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        for path, content in self.files:
            with open(path, "wb") as file:
                file.write(content)


def read_home(path: str) -> Home:
    """What is in this home now. Raises HomeError if that is too much, or neither a file nor a folder."""
    folders: list[str] = []
    files: list[tuple[str, bytes]] = []
    room = BYTES_MAX
    for place, below, names in os.walk(path):
        folders += [os.path.relpath(os.path.join(place, name), path) for name in sorted(below)]
        links = [name for name in below if os.path.islink(os.path.join(place, name))]
        for name in sorted(links + names):
            full = os.path.join(place, name)
            found = os.lstat(full)
            if not stat.S_ISREG(found.st_mode):
                raise HomeError(f"it makes {name} in its home, which is neither a file nor a folder")
            room -= found.st_size
            if room >= 0:
                with open(full, "rb") as file:
                    files.append((os.path.relpath(full, path), file.read()))
        if room < 0 or len(folders) + len(files) > FILES_MAX:
            raise HomeError(f"it writes more than {FILES_MAX} files or {BYTES_MAX:,} bytes into its home")
    return Home(tuple(folders), tuple(files))
