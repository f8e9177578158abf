"""An environment: the installed packages of one lock, in a folder that no process changes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that is complete. All modules with this lock share it."""

    #: `Lock.digest`: `sha256:` and 64 hex digits.
    digest: str
    #: The name of its folder below the folder of all environments: the 64 hex digits.
    folder: str
    #: The bytes of its shared libraries (`*.so`), which a child may map in addition to the usual room.
    library_bytes: int
    #: The normalised names and versions of its packages.
    versions: dict[str, str]
    #: The names that can be imported from it: top-level packages and modules.
    modules: frozenset[str]
    #: The files of packages that Python would have run at its start, such as `.pth` files. They were left out.
    start_files: tuple[str, ...] = ()
    #: The names of the standard library that packages have too. Imports find the standard library first.
    hidden: tuple[str, ...] = ()
