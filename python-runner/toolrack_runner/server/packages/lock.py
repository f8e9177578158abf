"""The lock of a module's packages: each wheel by name, version, file name and hash."""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from toolrack_runner.wire.frames import JsonObject


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
