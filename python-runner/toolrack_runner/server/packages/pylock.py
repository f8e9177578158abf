"""Reads the answer of uv: a lock file of PEP 751."""

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from toolrack_runner.server.packages.lock import PACKAGES_MAX, LockedPackage, LockError, locked_package


def wheels_in(lock: Mapping[str, Any]) -> Iterator[LockedPackage]:
    """The packages that this interpreter needs, each with one wheel. Raises LockError."""
    packages = lock.get("packages", [])
    if len(packages) > PACKAGES_MAX:
        raise LockError(f"it has more than {PACKAGES_MAX} packages")
    for package in packages:
        if "marker" not in package or Marker(package["marker"]).evaluate():
            yield _wheel_of(package)


def _wheel_of(package: Mapping[str, Any]) -> LockedPackage:
    name, version = package.get("name"), package.get("version")
    wheels = package.get("wheels")
    if not isinstance(name, str) or not isinstance(version, str) or not wheels:
        raise LockError(f"the package {name!r} has no wheel")
    wheel = wheels[0] if len(wheels) == 1 else min(wheels, key=_rank)
    size = wheel.get("size")
    place = urlsplit(str(wheel.get("url", "")))
    if size is None and place.scheme == "file" and os.path.isfile(path := unquote(place.path)):
        # From the operator's folder of wheels.
        size = os.path.getsize(path)
    sha256 = wheel.get("hashes", {}).get("sha256", "")
    return locked_package(name, version, _file_of(wheel), sha256, size if isinstance(size, int) else None)


def _file_of(wheel: Mapping[str, Any]) -> str:
    if isinstance(named := wheel.get("name"), str):
        return named
    place = wheel.get("path") or urlsplit(str(wheel.get("url", ""))).path
    return unquote(str(place)).rpartition("/")[2]


def _rank(wheel: Mapping[str, Any]) -> int:
    """How well a wheel fits this interpreter; the lowest fits best."""
    _, _, _, tags = parse_wheel_filename(_file_of(wheel))
    return next((at for at, tag in enumerate(sys_tags()) if tag in tags), 1 << 30)
