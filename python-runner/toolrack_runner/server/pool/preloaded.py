"""Decides which packages of the runner a child with an environment may share with a zygote.

An environment may have another version of a package than the runner. A module must get the version of its lock. So what a
zygote has imported has to be the same as in the environment, or must not be in it.
"""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions, version
from typing import Final

from toolrack_runner.own_libraries import OF_PYDANTIC
from toolrack_runner.server.packages.environment import Environment

#: The names and versions of the distributions that install each top-level name.
Installed = Mapping[str, Collection[tuple[str, str]]]

#: The packages of which the top-level names of their whole import are known.
OWN: Final = {"pydantic": OF_PYDANTIC}

_SEPARATORS = re.compile(r"[-_.]+")


@cache
def installed_distributions() -> Installed:
    """The distributions of the runner's own environment, by the top-level names that they install. Imports nothing."""
    return {
        top: {(normalised(name), version(name)) for name in names}
        for top, names in packages_distributions().items()
    }


async def know_installed() -> None:
    """Calls `installed_distributions` in a thread, if it was not called yet. It reads files for a third of a second."""
    if not installed_distributions.cache_info().currsize:
        await asyncio.to_thread(installed_distributions)


def normalised(name: str) -> str:
    """The name of a distribution as in `Environment.versions` (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def shared(packages: frozenset[str], environment: Environment | None) -> frozenset[str]:
    """Those of these packages of the runner that a child with this environment may share with a zygote."""
    if environment is None:
        return packages
    installed = installed_distributions()
    return frozenset(name for name in packages if fits(environment, OWN.get(name, (name,)), installed))


def fits(environment: Environment, loaded: Iterable[str], installed: Installed) -> bool:
    """Whether a child with this environment may be forked from a zygote that has imported these top-level names."""
    return all(_is_same(environment, name, installed) for name in loaded)


def _is_same(environment: Environment, name: str, installed: Installed) -> bool:
    """Whether the environment has the same package under this top-level name, or none at all."""
    owners = installed.get(name, ())
    same = [environment.versions.get(owner) == version for owner, version in owners]
    if name in environment.modules:
        # Another distribution may claim the name. A name without an owner cannot be compared.
        return bool(same) and all(same)
    return all(
        is_same or owner not in environment.versions for is_same, (owner, _) in zip(same, owners, strict=True)
    )
