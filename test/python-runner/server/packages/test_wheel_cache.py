"""Each uv works in its own copy of the cache: its size is bounded, and it costs others nothing, whatever it does."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, had
from server.packages.test_environments import children_of, place_of
from server.packages.test_install import lock_of, nothing_is_left, tag
from support.package_index import PackageIndex
from support.wheels import Wheel, wheel
from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages import wheel_cache
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.manifest import hashes_of
from toolrack_runner.server.packages.packages import Packages
from toolrack_runner.server.packages.policy import too_large
from toolrack_runner.server.packages.program import Bounds, Ended, run_program
from toolrack_runner.server.packages.progress import Progress
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.tree import entries_in, files_in, remove_tree
from toolrack_runner.server.packages.watch import watched
from toolrack_runner.server.packages.wheel_cache import OwnCache, WheelCache


def bytes_in(folder: Path) -> int:
    return sum(entry.stat(follow_symlinks=False).st_size for entry in files_in(folder))


def archives_of(settings: PackageSettings) -> list[str]:
    """The names of the files of packages in the cache."""
    return sorted(each.name for each in settings.folder.glob("cache/archive-*/*/*/__init__.py"))


def large(name: str = "large") -> Wheel:
    """A wheel of 30 KB that unpacks to 30 MB, in files that are small enough each."""
    return wheel(name, files={f"{name}/{n}.bin": bytes(3 << 20) for n in range(10)})


def test_what_a_killed_uv_has_left_counts_for_nobody_and_is_removed(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    settings = make_settings(bytes_max=4 << 20)
    index.wheels = [wheel("alpha")]
    index.gate = threading.Event()
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        packages = Packages(settings)
        # Other suites in this process may keep runners alive.
        others = {*children_of(os.getpid())}
        building = asyncio.create_task(packages.environments.for_lock(lock))
        await asyncio.to_thread(index.downloading.wait, 60)
        (own,) = settings.folder.glob("work/*/cache")
        (own / ".tmpOwn").mkdir()
        (own / ".tmpOwn" / "file.bin").write_bytes(bytes(3 << 20))
        for child in {*children_of(os.getpid())} - others:
            os.kill(child, signal.SIGKILL)
        with pytest.raises(PackagesUnavailableError, match="signal 9"):
            await building
        assert index.gate is not None
        index.gate.set()
        assert (await packages.environments.for_lock(lock)).versions == {"alpha": "1.0"}

    asyncio.run(run())
    assert not any(settings.folder.rglob(".tmp*"))
    assert bytes_in(settings.folder) < 1 << 20


def test_wheels_that_are_unpacked_while_versions_are_chosen_are_bounded_and_leave_nothing(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    made = large()
    (wheels / made.file).write_bytes(made.content)
    settings = make_settings(bytes_max=4 << 20, wheels=wheels)
    said: list[str] = []
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_MB") as refused:
        had(settings, "large", listener=said.append)
    assert refused.value.kind == "packages_too_large"
    assert not any("installing" in text for text in said)
    assert nothing_is_left(settings.folder)
    assert bytes_in(settings.folder) < 1 << 20


def test_a_refused_installation_leaves_nothing_in_the_cache(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [large(f"large{n}") for n in range(3)]
    settings = make_settings(bytes_max=4 << 20)
    for each in index.wheels:
        with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_MB"):
            had(settings, each.name, kept=lock_of(each))
    assert bytes_in(settings.folder) < 1 << 20


WRITER = """
import sys
for n in range(20_000):
    with open(f"{sys.argv[1]}/{n}", "wb") as file:
        file.write(bytes(4096))
"""


def test_a_program_that_writes_more_than_it_may_is_ended(make_settings: MakeSettings, tmp_path: Path) -> None:
    (place := tmp_path / "place").mkdir()

    def measure() -> None:
        if bytes_in(place) > 1 << 20:
            raise too_large(make_settings(), "it writes too much")

    async def run() -> Ended:
        command = [sys.executable, "-c", WRITER, str(place)]
        return await watched(run_program(command, {}, Bounds(1 << 20)), measure)

    others = {*children_of(os.getpid())}
    with pytest.raises(PackagesRefusedError, match="it writes too much"):
        asyncio.run(run())
    assert {*children_of(os.getpid())} <= others
    assert len(list(place.iterdir())) < 20_000


def test_a_wheel_with_a_wrong_record_costs_others_nothing(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha", files={"a.py": ""}, record={"a.py": "sha256=AAAA"}), wheel("beta")]
    settings = make_settings()
    other = had(settings, "beta")
    for _ in range(2):
        made = had(settings, "alpha", kept=lock_of(index.wheels[0])).environment
        assert made.versions == {"alpha": "1.0"}
        remove_tree(place_of(settings, made))
    assert archives_of(settings) == ["__init__.py"]
    index.stop()
    remove_tree(place_of(settings, other.environment))
    assert had(settings, "beta", kept=other.lock).environment == other.environment


def _change(wheel: Path) -> None:
    (wheel / "alpha.py").chmod(0o644)
    (wheel / "alpha.py").write_text("GOOD = None\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "changed": _change,
    "removed": lambda wheel: (wheel / "beta.py").unlink(),
    "added": lambda wheel: (wheel / "evil.py").write_text(""),
    "compiled": lambda wheel: (wheel / "evil.pyc").write_bytes(b""),
    # It is not compiled again, because its source cannot be compiled.
    "compiled file of a source": lambda wheel: (wheel / f"__pycache__/broken.{tag()}.pyc").write_bytes(b""),
    "start file": lambda wheel: (wheel / "evil.pth").write_text(""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_cache_that_was_changed_on_the_disk_is_mended(
    index: PackageIndex, make_settings: MakeSettings, change: str
) -> None:
    files = {"alpha.py": "GOOD = True\n", "beta.py": "", "broken.py": "def", "__pycache__/x.txt": ""}
    index.wheels = [wheel("alpha", files=files)]
    settings = make_settings()
    first = had(settings, "alpha")
    place = place_of(settings, first.environment)
    before = hashes_of(place)
    remove_tree(place)
    (unpacked,) = settings.folder.glob("cache/archive-*/*")
    CHANGES[change](unpacked)
    assert had(settings, "alpha", kept=first.lock) == first
    assert hashes_of(place) == before
    index.stop()
    remove_tree(place)
    assert had(settings, "alpha", kept=first.lock) == first
    assert hashes_of(place) == before


def test_a_wheel_with_odd_names_and_all_kinds_of_files_comes_from_the_cache(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    """Its files are those that it lists, also where uv writes or moves some, and some are left out."""
    odd = {
        "alpha.py": "",
        "a b.txt": "",
        "ü.txt": "",
        "evil.pth": "",
        "alpha/__pycache__/x.pyc": "",
        "alpha/x.py": "",
    }
    info = {"entry_points.txt": "[console_scripts]\na = alpha:run\n", "RECORD.jws": ""}
    data = {"scripts/run": "#!python\n", "data/share/a.txt": "", "headers/a.h": "", "platlib/p.py": ""}
    index.wheels = [
        wheel(
            "alpha",
            files=odd
            | {f"alpha-1.0.dist-info/{name}": text for name, text in info.items()}
            | {f"alpha-1.0.data/{name}": text for name, text in data.items()},
        )
    ]
    settings = make_settings()
    first = had(settings, "alpha")
    remove_tree(place_of(settings, first.environment))
    index.stop()
    assert had(settings, "alpha", kept=first.lock) == first


def test_the_cache_can_be_removed_while_an_installation_uses_its_own(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    settings = make_settings()
    lock = had(settings, "alpha").lock
    folders = Folders(settings.folder)
    cache = WheelCache(folders, settings)
    own = cache.lend(folders.new_work() / "cache", lock.packages)
    assert own.has_wheels
    before = sorted(os.path.relpath(entry.path, own.folder) for entry in files_in(own.folder))
    cache.clear()
    assert sorted(os.path.relpath(entry.path, own.folder) for entry in files_in(own.folder)) == before
    assert any("archive-" in path for path in before)
    cache.keep(own)
    assert archives_of(settings) == []
    assert list((settings.folder / "cache").rglob("*.http")) == []


def test_a_retry_after_the_time_was_up_goes_on_with_the_wheels_that_are_complete(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    settings = make_settings()
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        environments = Packages(settings).environments
        await environments.for_lock(lock)
        (complete,) = settings.folder.glob("cache/archive-*/*")
        bucket = complete.parent.name
        started = asyncio.Event()

        async def cancelled() -> None:
            async with environments.work(Progress(), environments.place_of("user")) as work:
                new = work.cache.folder / bucket / "new"
                new.mkdir()
                (new / "file.py").write_text("")
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(cancelled())
        await started.wait()
        task.cancel()
        await asyncio.wait((task,))
        assert (settings.folder / "cache" / bucket / "new" / "file.py").exists()

    asyncio.run(run())


def test_folders_count_as_files(index: PackageIndex, make_settings: MakeSettings) -> None:
    index.wheels = [wheel("alpha", files={f"alpha/{n}/file.txt": "" for n in range(30)})]
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_FILES"):
        had(make_settings(files_max=50), "alpha")
    assert had(make_settings(files_max=80), "alpha").environment.versions == {"alpha": "1.0"}


def test_an_installation_gets_only_the_wheels_of_its_lock_and_a_resolution_only_metadata(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [
        wheel(name, files={f"{name}/{n}.txt": "" for n in range(9)}) for name in ("alpha", "beta")
    ]
    index.wheels += [wheel("alpha", "0.9")]
    settings = make_settings()
    had(settings, "beta")
    had(settings, "alpha<1")
    lock = had(settings, "alpha").lock
    folders = Folders(settings.folder)
    cache = WheelCache(folders, settings)

    def unpacked(own: OwnCache) -> set[str]:
        """The files of wheels, without the random names of their folders."""
        buckets = own.folder.glob("archive-*/*")
        return {os.path.relpath(entry.path, wheel) for wheel in buckets for entry in files_in(wheel)}

    of_lock = unpacked(cache.lend(folders.new_work() / "cache", lock.packages))
    assert of_lock == {
        *(f"alpha/{n}.txt" for n in range(9)),
        *(f"alpha-1.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL")),
    }
    of_resolution = unpacked(cache.lend(folders.new_work() / "cache"))
    assert of_resolution == {f"{name}.dist-info/METADATA" for name in ("alpha-1.0", "alpha-0.9", "beta-1.0")}


def test_a_resolution_from_a_folder_of_wheels_unpacks_none_twice(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for made in (wheel("alpha", requires=("beta",)), wheel("beta"), wheel("gamma")):
        (wheels / made.file).write_bytes(made.content)
    settings = make_settings(wheels=wheels)
    first = had(settings, "alpha")
    assert had(settings, "alpha>=1").lock.packages == first.lock.packages
    had(settings, "alpha", "gamma")
    assert archives_of(settings) == ["__init__.py"] * 3


def test_an_upload_that_is_refused_for_its_size_leaves_no_wheels(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    """uv unpacks wheels of a folder while it chooses versions. It may unpack more than an environment may have."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    made = wheel("alpha", files={f"alpha/{n}.txt": "" for n in range(120)})
    (wheels / made.file).write_bytes(made.content)
    settings = make_settings(wheels=wheels, files_max=100)
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_FILES"):
        had(settings, "alpha")
    assert not any(settings.folder.glob("cache/archive-*/*"))


def test_the_files_of_a_wheel_in_the_cache_are_counted_once(
    index: PackageIndex, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.wheels = [wheel("alpha"), wheel("beta")]
    settings = make_settings()
    had(settings, "alpha")
    cache = WheelCache(Folders(settings.folder), settings)
    walked: list[Path] = []

    def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
        walked.append(folder)
        return entries_in(folder)

    monkeypatch.setattr(wheel_cache, "entries_in", entries)
    for _ in range(3):
        cache.trim()
    assert len([each for each in walked if each.parent.name.startswith("archive-")]) == 1
