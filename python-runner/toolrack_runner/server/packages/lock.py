"""The lock of a module's packages: each wheel by name, version, file name and hash."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from toolrack_runner.wire.frames import JsonObject, JsonValue

#: How many packages a lock may have. Large frameworks have 150.
PACKAGES_MAX = 500
#: The most characters of the name of a wheel. File systems have the same limit.
FILE_CHARACTERS_MAX = 255
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_VERSION = re.compile(r"[A-Za-z0-9.!+_-]{1,100}", re.ASCII)
_FILE = re.compile(r"[A-Za-z0-9._+!-]+\.whl", re.ASCII)


class LockedPackage(NamedTuple):
    #: The normalised name (PEP 503), such as `python-dateutil`.
    name: str
    version: str
    #: The file name of the wheel.
    file: str
    #: 64 hex digits.
    sha256: str
    #: The size of the wheel; None if the index does not say it.
    bytes: int | None


class Lock(NamedTuple):
    """The packages of a module, sorted by name. The service keeps it with the version of the module, and sends it again."""

    #: The normalised requirements of the module, sorted.
    requirements: tuple[str, ...]
    #: The version of Python, such as `3.11`, and the platform, such as `linux-x86_64`, for which the wheels are.
    python: str
    platform: str
    packages: tuple[LockedPackage, ...]

    @property
    def digest(self) -> str:
        """`sha256:` and the hash of the canonical JSON of the packages, without their sizes.

        It is the same whichever index has served the packages.
        """
        return lock_digest(self.packages)

    def as_json(self) -> JsonObject:
        return {
            "digest": self.digest,
            "requirements": list(self.requirements),
            "python": self.python,
            "platform": self.platform,
            "packages": [package._asdict() for package in self.packages],
        }


def lock_digest(packages: Sequence[LockedPackage]) -> str:
    """The digest of sorted packages. Their texts are ASCII, so this JSON is canonical (RFC 8785)."""
    normalised = [
        {"file": each.file, "name": each.name, "sha256": each.sha256, "version": each.version}
        for each in packages
    ]
    return f"sha256:{hashlib.sha256(json.dumps(normalised, separators=(',', ':')).encode()).hexdigest()}"


class LockError(Exception):
    """The value is no lock. The message is the end of a sentence."""


def read_lock(value: JsonValue) -> Lock:
    """Reads a lock that the service has kept; raises LockError."""
    if not isinstance(value, dict):
        raise LockError("it is no object")
    requirements, packages = value.get("requirements"), value.get("packages")
    python, platform = value.get("python"), value.get("platform")
    if not isinstance(requirements, list) or not isinstance(packages, list) or len(packages) > PACKAGES_MAX:
        raise LockError(f"requirements and packages must be lists, of at most {PACKAGES_MAX} packages")
    texts = tuple(text for text in requirements if isinstance(text, str))
    if len(texts) < len(requirements) or not isinstance(python, str) or not isinstance(platform, str):
        raise LockError("requirements, python and platform must be texts")
    lock = Lock(texts, python, platform, sorted_packages(_package(each) for each in packages))
    if lock.digest != value.get("digest"):
        raise LockError("digest is not the digest of its packages")
    return lock


def sorted_packages(packages: Iterable[LockedPackage]) -> tuple[LockedPackage, ...]:
    """The packages of a lock, sorted by name; raises LockError if two have the same name."""
    found = sorted(packages)
    for one, other in pairwise(found):
        if one.name == other.name:
            raise LockError(f"it has the package {one.name} twice")
    return tuple(found)


def locked_package(name: str, version: str, file: str, sha256: str, size: int | None) -> LockedPackage:
    """One package, if its fields fit together; raises LockError. They may come from an index or from a stored lock."""
    try:
        of_file, of_version, _, _ = parse_wheel_filename(file)
        fits = of_file == canonicalize_name(name) == name and of_version == Version(version)
    except (InvalidWheelFilename, InvalidVersion):
        fits = False
    if (
        not fits
        or len(file) > FILE_CHARACTERS_MAX
        or not _FILE.fullmatch(file)
        or not _VERSION.fullmatch(version)
    ):
        raise LockError(f"{name[:100]!r} {version[:100]!r} is not the package in the file {file[:200]!r}")
    if not _SHA256.fullmatch(sha256):
        raise LockError(f"the package {name} has no sha256")
    return LockedPackage(name, version, file, sha256, size)


def _package(value: JsonValue) -> LockedPackage:
    if not isinstance(value, dict):
        raise LockError("each package must be an object")
    name, version, file = value.get("name"), value.get("version"), value.get("file")
    sha256, size = value.get("sha256"), value.get("bytes")
    texts = [each for each in (name, version, file, sha256) if isinstance(each, str)]
    if (
        len(texts) < 4
        or isinstance(size, bool)
        or not (size is None or (isinstance(size, int) and size >= 0))
    ):
        raise LockError("each package must have name, version, file, sha256 and bytes")
    return locked_package(texts[0], texts[1], texts[2], texts[3], size)
