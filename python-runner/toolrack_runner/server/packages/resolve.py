"""Chooses the versions of a module's packages. uv chooses; the result is read as a text of a stranger."""

import asyncio
import sysconfig
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from sys import version_info

from packaging.utils import canonicalize_name

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.explain import explained
from toolrack_runner.server.packages.head import Head
from toolrack_runner.server.packages.lock import Lock, LockError, sorted_packages
from toolrack_runner.server.packages.pylock import packages_in
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.server.packages.watch import watched
from toolrack_runner.server.packages.wheel_cache import OwnCache

#: The version of Python and the platform for which this runner resolves.
PYTHON = f"{version_info.major}.{version_info.minor}"
PLATFORM = sysconfig.get_platform()
#: The most bytes of uv's answer: 500 packages, each with a long address.
ANSWER_BYTES_MAX = 1 << 20
#: How many environments uv may unpack while it chooses. If an index does not tell the metadata of wheels, uv unpacks them,
#: also those of versions that it does not take.
ENVIRONMENTS_MAX = 2


async def resolve(uv: Uv, settings: PackageSettings, head: Head, folder: Path, cache: OwnCache) -> Lock:
    """The lock for a head whose requirements are allowed. `folder` is left with files of uv.

    Raises PackagesRefusedError or PackagesUnavailableError.
    """
    asked, answer = folder / "requirements.in", folder / "pylock.toml"
    wanted = [requirement.bare for requirement in head.requirements if requirement.applies]
    asked.write_text("".join(f"{text}\n" for text in wanted))
    answer.write_text(await asyncio.to_thread(_preferences))
    arguments = [
        "compile",
        str(asked),
        "--format",
        "pylock.toml",
        "-o",
        str(answer),
        "--no-header",
        "--no-annotate",
    ]
    ended = await watched(
        uv.run(arguments, cache.folder), lambda: cache.require_room(settings, ENVIRONMENTS_MAX)
    )
    if ended.status != 0:
        names = {requirement.name for requirement in head.requirements}
        raise explained(ended, uv.hidden, asked=names, has_index=uv.has_index)
    _refuse_yanked(ended.text)
    if answer.stat().st_size > ANSWER_BYTES_MAX:
        raise PackagesRefusedError("packages_too_large", "the module needs too many packages. Ask for fewer.")
    try:
        # In a thread, because one release may list many wheels, and the loop serves the calls of all users.
        packages = await asyncio.to_thread(packages_in, answer.read_text())
        return Lock(head.texts, PYTHON, PLATFORM, sorted_packages(packages))
    except (LockError, ValueError) as error:
        raise PackagesUnavailableError(f"the answer of uv cannot be used: {error}.") from None


def _refuse_yanked(text: str) -> None:
    """uv only warns of a yanked version if the module asks for exactly this version."""
    line = next(
        (line for line in text.splitlines() if line.startswith("warning:") and " is yanked" in line), None
    )
    if line is not None:
        which = line.partition("`")[2].partition("`")[0]
        raise PackagesRefusedError(
            "packages_yanked",
            f"the publisher of {which} has withdrawn (yanked) this version. Ask for another version.",
        )


@cache
def _preferences() -> str:
    """An earlier answer for uv, with the versions that the operator has installed. uv prefers them where they fit.

    Then the zygotes that have imported the packages of the operator can serve the module.
    """
    lines = ['lock-version = "1.0"', 'created-by = "toolrack"']
    for installed in distributions():
        name, version = canonicalize_name(installed.metadata["Name"] or ""), installed.version
        if (
            name
            and name.replace("-", "").isalnum()
            and version.isascii()
            and version.isprintable()
            and '"' not in version
        ):
            lines += ["[[packages]]", f'name = "{name}"', f'version = "{version}"']
    return "\n".join([*lines, ""])
