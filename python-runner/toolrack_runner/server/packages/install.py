"""Installs the packages of a lock into a folder of its own, checks them, and compiles them."""

import asyncio
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.bytecode import compile_all
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.explain import explained
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.manifest import Manifest, hashes_of
from toolrack_runner.server.packages.policy import too_large, too_many_files
from toolrack_runner.server.packages.program import Ended
from toolrack_runner.server.packages.records import has_listed_hashes
from toolrack_runner.server.packages.refusal import PackagesUnavailableError
from toolrack_runner.server.packages.tidy import Tidied, tidy
from toolrack_runner.server.packages.tree import entries_in, files_in, folders_in, size_of
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.server.packages.watch import watched
from toolrack_runner.server.packages.wheel_cache import OwnCache


class Installed(NamedTuple):
    manifest: Manifest
    #: Whether the files have the names and hashes that their wheels list.
    is_as_listed: bool


_DOWNLOADS = re.compile(r"^\s*(Downloading|Downloaded) (.{1,100})", re.ASCII)


async def install(
    uv: Uv,
    settings: PackageSettings,
    lock: Lock,
    folder: Path,
    cache: OwnCache,
    say: Callable[[str], None],
) -> Installed:
    """Installs into `folder / "target"`. The caller removes `folder` if this fails.

    Raises PackagesRefusedError or PackagesUnavailableError.
    """
    target = folder / "target"
    target.mkdir()
    if lock.packages:
        await _run_uv(uv, settings, lock, folder, cache, say)
    say("checking and compiling the packages")
    tidied = await asyncio.to_thread(tidy, target)
    await asyncio.to_thread(_require_room, settings, target)
    await compile_all(target, await asyncio.to_thread(_sources, target), settings.seconds)
    await asyncio.to_thread(_require_room, settings, target)
    return await asyncio.to_thread(_finish, lock, target, tidied)


async def _run_uv(
    uv: Uv,
    settings: PackageSettings,
    lock: Lock,
    folder: Path,
    cache: OwnCache,
    say: Callable[[str], None],
) -> None:
    pins = folder / "pins.txt"
    pins.write_text(
        "".join(f"{each.name}=={each.version} --hash=sha256:{each.sha256}\n" for each in lock.packages)
    )
    arguments = [
        "install",
        "--target",
        str(folder / "target"),
        "--no-deps",
        "--require-hashes",
        "-r",
        str(pins),
    ]
    arguments += ["--link-mode", "hardlink"]
    size = sum(each.bytes or 0 for each in lock.packages)
    shown = _counted(len(lock.packages), "package") + (f" ({-(-size >> 20)} MB)" if size else "")
    say(f"installing {shown}")
    done = 0

    def note(line: str) -> None:
        nonlocal done
        found = _DOWNLOADS.match(line)
        if found is not None:
            done += found[1] == "Downloaded"
            say(f"installing {shown}: {found[1].lower()} {found[2]}, {_counted(done, 'download')} done")

    async def run() -> Ended:
        # A lock whose wheels are in the cache needs no index. uv finds this out in some milliseconds.
        ended = await uv.run(arguments, cache.folder, offline=True) if cache.has_wheels else None
        if ended is not None and ended.status == 0:
            return ended
        return await uv.run(arguments, cache.folder, on_line=note)

    def measure() -> None:
        cache.require_room(settings, 1)
        _require_room(settings, folder / "target")

    ended = await watched(run(), measure)
    if not cache.folder.is_dir():
        raise PackagesUnavailableError("the files of the installation were removed meanwhile. Try again.")
    if ended.status != 0:
        raise explained(ended, uv.hidden, has_index=uv.has_index, is_locked=True)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _sources(target: Path) -> list[str]:
    return sorted(
        os.path.relpath(each.path, target) for each in files_in(target) if each.name.endswith(".py")
    )


def _require_room(settings: PackageSettings, target: Path) -> None:
    size = count = 0
    for entry in entries_in(target):
        # Folders count too, because each takes as much of the disk as a small file.
        count += 1
        size += size_of(entry)
    if count > settings.files_max:
        raise too_many_files(settings, count)
    if size > settings.bytes_max:
        raise too_large(settings, f"the packages have {-(-size >> 20)} MB when they are unpacked")


def _finish(lock: Lock, target: Path, tidied: Tidied) -> Installed:
    """Makes the files read-only for everybody, and describes them."""
    library_bytes = 0
    for entry in files_in(target):
        if ".so" in entry.name:
            library_bytes += entry.stat().st_size
        os.chmod(entry.path, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    for folder in folders_in(target):
        os.chmod(folder.path, 0o555)  # noqa: S103 - children run as other users
    files = hashes_of(target)
    environment = Environment(
        digest=lock.digest,
        folder=lock.digest.removeprefix("sha256:"),
        library_bytes=library_bytes,
        versions={each.name: each.version for each in lock.packages},
        modules=tidied.modules,
        start_files=tidied.start_files,
        hidden=tidied.hidden,
    )
    is_as_listed = tidied.is_as_listed and has_listed_hashes(target, files)
    return Installed(Manifest(environment, files), is_as_listed)
