"""The settings of the operator for the packages of modules."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolrack_runner.server.variables import SettingsError, whole_number

#: The default of each limit. The service has the same defaults in `functions/src/hosts/config.ts`.
#: 1 GB has room for pandas with scikit-learn and matplotlib (half of it), and not for libraries of graphics cards.
SIZE_MB = 1024
#: pandas has 5,200 files with its compiled ones.
FILES = 30_000
#: Resolving and installing pandas takes 6 s. The rest is for a slow connection.
SECONDS = 120
#: 20 environments with pandas take 3 GB.
COUNT = 20

#: A glob of names as people write them, such as `python_dateutil` or `NumPy`.
_GLOB = re.compile(r"[A-Za-z0-9*][A-Za-z0-9*._-]{0,99}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_INDEX = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True, slots=True)
class PackageSettings:
    #: Whether modules may ask for packages.
    is_on: bool
    #: The folder of the environments and of uv's cache.
    folder: Path
    #: Globs of normalised names. None means all names.
    allow: tuple[str, ...] | None = None
    #: Globs of normalised names that are never allowed.
    deny: tuple[str, ...] = ()
    #: The URL of a simple index; None for the default of uv. It may hold credentials, so it is never shown.
    index: str | None = None
    #: A folder of wheels. If it is set, no index is asked.
    wheels: Path | None = None
    #: The most bytes of an environment, and of the wheels that it is made of.
    bytes_max: int = SIZE_MB << 20
    #: The most files of an environment.
    files_max: int = FILES
    #: How many seconds resolving and installing may take together.
    seconds: int = SECONDS
    #: How many environments are kept.
    count: int = COUNT
    #: The packages of the operator that zygotes may import before confinement. None means all.
    preload: frozenset[str] | None = None


def read_package_settings(environment: Mapping[str, str]) -> PackageSettings:
    """Reads the variables TOOLRACK_PACKAGES*; raises SettingsError."""
    in_cloud = "K_SERVICE" in environment
    switch = environment.get("TOOLRACK_PACKAGES") or ("off" if in_cloud else "on")
    if switch not in ("on", "off"):
        raise SettingsError(f"TOOLRACK_PACKAGES: {switch!r} is neither on nor off")
    index = environment.get("TOOLRACK_PACKAGES_INDEX") or None
    if index is not None and not _INDEX.fullmatch(index):
        # The value is not shown, because it may hold a password.
        raise SettingsError("TOOLRACK_PACKAGES_INDEX must be the http or https address of a simple index")
    allow = _globs(environment, "TOOLRACK_PACKAGES_ALLOW")
    preload = environment.get("TOOLRACK_PACKAGES_PRELOAD")
    return PackageSettings(
        is_on=switch == "on",
        folder=_folder(environment, in_cloud=in_cloud),
        allow=allow or None,
        deny=_globs(environment, "TOOLRACK_PACKAGES_DENY"),
        index=index,
        wheels=_wheels(environment),
        bytes_max=whole_number(environment, "TOOLRACK_PACKAGES_MB", SIZE_MB, lowest=1, highest=1 << 20) << 20,
        files_max=whole_number(environment, "TOOLRACK_PACKAGES_FILES", FILES, lowest=1, highest=1_000_000),
        seconds=whole_number(environment, "TOOLRACK_PACKAGES_SECONDS", SECONDS, lowest=1, highest=3_600),
        count=whole_number(environment, "TOOLRACK_PACKAGES_COUNT", COUNT, lowest=1, highest=10_000),
        preload=None
        if not preload
        else frozenset()
        if preload == "none"
        else frozenset(
            _list(
                environment,
                "TOOLRACK_PACKAGES_PRELOAD",
                _NAME,
                "none, or the name of a package such as pandas",
            )
        ),
    )


def _folder(environment: Mapping[str, str], *, in_cloud: bool) -> Path:
    """The folder of the packages. On Cloud Run only /tmp can be written; it is the memory of the instance."""
    if named := environment.get("TOOLRACK_PACKAGES_DIR"):
        return Path(named).absolute()
    if in_cloud:
        return Path("/tmp/toolrack-packages")  # noqa: S108 - an instance has no other users
    cache = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache).absolute() / "toolrack" / "packages"


def _wheels(environment: Mapping[str, str]) -> Path | None:
    """The folder of wheels. It is opened here, because otherwise every upload would fail with a fault of its own."""
    name = "TOOLRACK_PACKAGES_WHEELS"
    if not (text := environment.get(name)):
        return None
    folder = Path(text).absolute()
    try:
        os.scandir(folder).close()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its path is not valid"
        raise SettingsError(f"{name}: the folder {text!r} cannot be read: {reason}") from None
    return folder


def _globs(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Globs of normalised names (PEP 503)."""
    globs = _list(environment, name, _GLOB, "a glob of names such as pandas,types-*")
    return tuple(re.sub(r"[._-]+", "-", glob).lower() for glob in globs)


def _list(environment: Mapping[str, str], name: str, item: re.Pattern[str], meaning: str) -> tuple[str, ...]:
    texts = [text for text in re.split(r"[,\s]+", environment.get(name, "")) if text]
    for text in texts:
        if not item.fullmatch(text):
            raise SettingsError(f"{name}: {text[:100]!r} is not {meaning}, with commas between them")
    return tuple(texts)
