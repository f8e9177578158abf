"""Reads the answer of uv: a lock file of PEP 751."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker
from packaging.tags import Tag, sys_tags
from packaging.utils import parse_wheel_filename

from toolrack_runner.server.packages.lock import PACKAGES_MAX, LockedPackage, LockError, locked_package
from toolrack_runner.server.packages.refusal import PackagesRefusedError

#: The most wheels of one release. Packages for all systems have about 100.
WHEELS_MAX = 1_000


def packages_in(answer: str) -> list[LockedPackage]:
    """The packages in the answer of uv. Takes up to some seconds. Raises what `wheels_in` raises, and ValueError."""
    return list(wheels_in(tomllib.loads(answer)))


def wheels_in(lock: Mapping[str, Any]) -> Iterator[LockedPackage]:
    """The packages that this interpreter needs, each with one wheel. Raises LockError or PackagesRefusedError."""
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
    if len(wheels) > WHEELS_MAX:
        raise PackagesRefusedError(
            "packages_too_large",
            f"{name[:100]} {version[:100]} has {len(wheels)} wheels; the limit is {WHEELS_MAX}. Ask for another version.",
        )
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
    ranks = _ranks()
    return min((ranks.get(tag, 1 << 30) for tag in tags), default=1 << 30)


@cache
def _ranks() -> dict[Tag, int]:
    """The rank of each tag. Made once, because there are more than 1,000 tags."""
    return {tag: at for at, tag in enumerate(sys_tags())}
