"""The versions of libraries that the runner's own code in a child can work with.

If an environment has one of these libraries, the runner's code in this child uses the version of the environment, because a
process can import a package only once. Each range says which versions pass `test/python-runner/child/module`.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import requires
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.wire.fault import Fault, fault

#: For each library, by its normalised name, the versions that an environment may have.
SUPPORTED: Final[Mapping[str, SpecifierSet]] = {
    # 2.12.0, 2.12.5 and 2.13.0 pass. 2.11.7 derives other schemas: it adds a title to each argument. A new major version
    # may change everything.
    "pydantic": SpecifierSet(">=2.12,<3"),
    # 0.15 and 0.17.0 pass.
    "docstring-parser": SpecifierSet(">=0.15,<1"),
    # 0.33.0 does not know the option `offline`, so a schema could make it read files and addresses. Its minor versions
    # change the functions that are used here.
    "jsonschema-rs": SpecifierSet(">=0.60,<0.61"),
}
#: The library that imports others. If an environment has one of the others but not this library, the version must be one
#: that the runner's own copy of the library requires.
_PARENT: Final = "pydantic"


def unsupported(versions: Mapping[str, str], where: str) -> Fault | None:
    """The fault of a module whose environment has a library in a version that the runner cannot work with, or None.

    `versions` has the normalised names and versions of all packages of the environment. `where` is the main file.
    """
    # If the environment has the parent too, uv has chosen the versions that this copy requires.
    required = {} if _PARENT in versions else _required_here()
    for name, allowed in {**required, **SUPPORTED}.items():
        version = versions.get(name)
        if version is not None and not allowed.contains(Version(version), prereleases=True):
            sentence = (
                f"its dependencies install {name} {version}, and the runner's own code, which uses {name} too, works with "
                f"{name}{allowed}. Name a version of this range in `dependencies`, or dependencies that allow one."
            )
            return fault("packages_unsupported", where, None, sentence)
    return None


def replaced(environment: Environment, where: str) -> Fault | None:
    """The fault of a module whose environment has a module of a library that the runner uses, but not this library."""
    for name in sorted({*SUPPORTED, *_required_here()}):
        module = name.replace("-", "_")
        if module in environment.modules and name not in environment.versions:
            sentence = (
                f"its dependencies install a module {module}, which the runner's own code uses too, but not the package "
                f"{name}. Name {name} in `dependencies`, or leave out the package that brings another {module}."
            )
            return fault("packages_unsupported", where, None, sentence)
    return None


@cache
def _required_here() -> dict[str, SpecifierSet]:
    """What the runner's own copy of `_PARENT` requires."""
    required = [Requirement(text) for text in requires(_PARENT) or ()]
    return {
        canonicalize_name(each.name): each.specifier
        for each in required
        if each.marker is None or each.marker.evaluate({"extra": ""})
    }
