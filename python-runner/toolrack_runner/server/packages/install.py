"""Installs the packages of a lock into a folder of its own, checks them, and compiles them."""

import asyncio
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.bytecode import compile_all
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.explain import explained
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.manifest import Manifest, hashes_of
from toolrack_runner.server.packages.policy import too_large, too_many_files
from toolrack_runner.server.packages.program import Ended
from toolrack_runner.server.packages.records import compare_records
from toolrack_runner.server.packages.tidy import Tidied, tidy
from toolrack_runner.server.packages.tree import files_in, folders_in
from toolrack_runner.server.packages.uv import Uv

#: How often the bytes on the disk are counted while uv unpacks wheels. A wheel can unpack to a thousand times its size.
WATCH_SECONDS = 0.5
_DOWNLOADS = re.compile(r"^\s*(Downloading|Downloaded) (.{1,100})", re.ASCII)


async def install(
    uv: Uv,
    settings: PackageSettings,
    lock: Lock,
    folder: Path,
    say: Callable[[str], None],
    *,
    compares: bool = True,
) -> Manifest:
    """Installs into `folder / "target"`. The caller removes `folder` if this fails.

    Raises PackagesRefusedError or PackagesUnavailableError. With `compares`, raises DamagedCacheError if a file
    is not the one that its wheel lists.
    """
    target = folder / "target"
    target.mkdir()
    if lock.packages:
        await _run_uv(uv, settings, lock, folder, say)
    say("checking and compiling the packages")
    tidied = await asyncio.to_thread(tidy, target)
    await asyncio.to_thread(_require_room, settings, target)
    await compile_all(target, await asyncio.to_thread(_sources, target), settings.seconds)
    await asyncio.to_thread(_require_room, settings, target)
    manifest = await asyncio.to_thread(_finish, lock, target, tidied)
    if compares:
        await asyncio.to_thread(compare_records, target, manifest.files)
    return manifest


async def _run_uv(
    uv: Uv, settings: PackageSettings, lock: Lock, folder: Path, say: Callable[[str], None]
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
    count = len(lock.packages)
    shown = f"{count} {'package' if count == 1 else 'packages'}{f' ({-(-size >> 20)} MB)' if size else ''}"
    say(f"installing {shown}")
    done = 0

    def note(line: str) -> None:
        nonlocal done
        found = _DOWNLOADS.match(line)
        if found is not None:
            done += found[1] == "Downloaded"
            say(f"installing {shown}: {found[1].lower()} {found[2]}, {done} downloads done")

    async def run() -> Ended:
        # A lock whose wheels are in the cache needs no index. uv finds this out in some milliseconds.
        ended = await uv.run(arguments, offline=True) if uv.has_wheels else None
        return ended if ended is not None and ended.status == 0 else await uv.run(arguments, on_line=note)

    running = asyncio.create_task(run())
    watching = asyncio.create_task(_watch(settings, uv.cache, folder))
    try:
        await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        ended = running.result()
    finally:
        running.cancel()
        watching.cancel()
        await asyncio.gather(running, watching, return_exceptions=True)
    if ended.status != 0:
        raise explained(ended, is_locked=True)


async def _watch(settings: PackageSettings, cache: Path, folder: Path) -> NoReturn:
    """Raises PackagesRefusedError when the files that uv writes now are larger than an environment may be."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        size, count = await asyncio.to_thread(_being_written, cache, folder)
        if size > settings.bytes_max:
            raise too_large(settings, "the packages take more room when they are unpacked")
        if count > settings.files_max:
            raise too_many_files(settings, count)


def _being_written(cache: Path, folder: Path) -> tuple[int, int]:
    size = count = 0
    with suppress(OSError):
        places = [each for each in os.scandir(cache) if each.name.startswith(".tmp") and each.is_dir()]
        for place in [folder / "target", *(Path(each.path) for each in places)]:
            with suppress(OSError):
                for entry in files_in(place):
                    size += entry.stat(follow_symlinks=False).st_size
                    count += 1
    return size, count


def _sources(target: Path) -> list[str]:
    return sorted(
        os.path.relpath(each.path, target) for each in files_in(target) if each.name.endswith(".py")
    )


def _require_room(settings: PackageSettings, target: Path) -> None:
    sizes = [entry.stat(follow_symlinks=False).st_size for entry in files_in(target)]
    if len(sizes) > settings.files_max:
        raise too_many_files(settings, len(sizes))
    if sum(sizes) > settings.bytes_max:
        raise too_large(settings, f"the packages have {-(-sum(sizes) >> 20)} MB when they are unpacked")


def _finish(lock: Lock, target: Path, tidied: Tidied) -> Manifest:
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
    return Manifest(environment, files)
