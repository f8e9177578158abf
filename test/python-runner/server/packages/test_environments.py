"""Environments are built once, verified before use, and removed when they are unused; a failure leaves nothing."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, had, head_with
from server.packages.test_install import lock_of, nothing_is_left
from support.package_index import PackageIndex
from support.until import until
from support.wheels import wheel
from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages import environments
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.packages import Packages
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.tree import remove_tree
from toolrack_runner.server.packages.uv import Uv


def place_of(settings: PackageSettings, environment: Environment) -> Path:
    return settings.folder / "environments" / environment.folder


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that live."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(each) for each in found.stdout.split() if Path(f"/proc/{each}/cwd").exists()]


def test_two_modules_that_need_the_same_environment_at_once_build_one(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        packages = Packages(make_settings())
        said: list[list[str]] = [[], [], []]
        made = await asyncio.gather(
            *(packages.for_module(head_with("alpha"), lock, texts.append) for texts in said)
        )
        assert len({id(each.environment) for each in made}) == 1
        assert all("checking and compiling" in " ".join(texts) for texts in said)

    asyncio.run(run())
    assert index.downloads == [index.wheels[0].file]


def test_an_existing_environment_needs_neither_uv_nor_an_index(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    first = had(make_settings(), "alpha")
    index.stop()
    (settings := make_settings()).folder.joinpath("cache").rename(settings.folder / "gone")
    assert had(settings, "alpha", kept=first.lock) == first


def test_a_lock_builds_from_the_cache_while_the_index_is_away(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha", requires=("beta",)), wheel("beta")]
    first = had(make_settings(), "alpha")
    index.stop()
    settings = make_settings()
    remove_tree(place_of(settings, first.environment))
    assert had(settings, "alpha", kept=first.lock).environment == first.environment
    with pytest.raises(PackagesUnavailableError, match="cannot be reached"):
        had(settings, "alpha>=1", "gamma")


@pytest.mark.parametrize("change", ["changed", "added", "removed", "linked"])
def test_an_environment_that_was_changed_on_the_disk_is_built_again_before_its_use(
    index: PackageIndex, make_settings: MakeSettings, change: str
) -> None:
    index.wheels = [wheel("alpha", files={"alpha.py": "GOOD = True\n", "beta.py": ""})]
    settings = make_settings()
    first = had(settings, "alpha", kept=lock_of(index.wheels[0]))
    folder = place_of(settings, first.environment)
    file = folder / "alpha.py"
    folder.chmod(0o755)
    if change == "changed":
        # The same inode is in uv's cache.
        file.chmod(0o644)
        file.write_text("GOOD = None\n")
    elif change == "added":
        (folder / "evil.py").write_text("")
    elif change == "removed":
        (folder / "beta.py").unlink()
    else:
        file.unlink()
        file.symlink_to("/etc/passwd")
    again = had(settings, "alpha", kept=first.lock)
    assert again.environment == first.environment
    assert file.read_text() == "GOOD = True\n"
    assert sorted(os.listdir(folder)) == ["__pycache__", "alpha-1.0.dist-info", "alpha.py", "beta.py"]


def _exchange(folder: Path) -> None:
    folder.rename(folder.with_name("aside"))
    shutil.copytree(folder.with_name("aside"), folder)
    (folder / "alpha.py").chmod(0o644)
    (folder / "alpha.py").write_text("GOOD = None\n")
    times = os.stat(folder.with_name("aside"))
    os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))


def _add(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "evil.py").write_text("")


@pytest.mark.parametrize("change", [remove_tree, _exchange, _add], ids=["removed", "exchanged", "added"])
def test_a_folder_that_is_removed_or_changed_while_the_runner_runs_is_built_again_before_its_next_use(
    index: PackageIndex, make_settings: MakeSettings, change: Callable[[Path], None]
) -> None:
    index.wheels = [wheel("alpha", files={"alpha.py": "GOOD = True\n"})]
    settings = make_settings()
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        packages = Packages(settings)
        made = await packages.for_call(lock.digest, lock, 60)
        assert made is not None
        assert await packages.for_call(lock.digest, None, 60) is made
        change(folder := place_of(settings, made))
        assert await packages.for_call(lock.digest, None, 60) is None
        assert await packages.for_call(lock.digest, lock, 60) == made
        assert sorted(os.listdir(folder)) == ["__pycache__", "alpha-1.0.dist-info", "alpha.py"]
        assert (folder / "alpha.py").read_text() == "GOOD = True\n"

    asyncio.run(run())


def verification_of(packages: Packages) -> "asyncio.Task[None] | None":
    """The verification behind the calls that runs now."""
    return packages.environments._again


def test_a_file_that_is_changed_while_the_runner_runs_is_found_behind_the_calls(
    index: PackageIndex, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "VERIFY_AGAIN_SECONDS", 0)
    monkeypatch.setattr(environments, "VERIFY_AGAIN_PAUSES", 0)
    index.wheels = [wheel("alpha", files={"alpha/__init__.py": "GOOD = True\n"})]
    settings = make_settings()
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        packages = Packages(settings)
        made = await packages.for_call(lock.digest, lock, 60)
        assert made is not None
        file = place_of(settings, made) / "alpha" / "__init__.py"
        file.chmod(0o644)
        file.write_text("GOOD = None\n")
        assert await packages.for_call(lock.digest, None, 60) is made
        again = verification_of(packages)
        assert again is not None
        await again
        assert await packages.for_call(lock.digest, None, 60) is None
        assert await packages.for_call(lock.digest, lock, 60) == made
        assert file.read_text() == "GOOD = True\n"

    asyncio.run(run())


def test_one_environment_is_verified_again_at_a_time_and_then_there_is_a_pause(
    index: PackageIndex, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.wheels = [wheel("alpha"), wheel("beta")]
    digests = [lock_of(each).digest for each in index.wheels]
    verified: list[str] = []
    gate = threading.Event()

    async def run() -> None:
        packages = Packages(make_settings())
        for made in index.wheels:
            await packages.for_call(lock_of(made).digest, lock_of(made), 60)
        verify = packages.environments._kept.verify

        def slowly(digest: str) -> Environment | None:
            verified.append(digest)
            gate.wait(60)
            return verify(digest)

        monkeypatch.setattr(packages.environments._kept, "verify", slowly)
        await use_all(packages)
        # An environment that was verified just now is not verified again.
        assert verification_of(packages) is None
        monkeypatch.setattr(environments, "VERIFY_AGAIN_SECONDS", 0)
        monkeypatch.setattr(environments, "VERIFY_AGAIN_PAUSES", 1 << 40)
        await use_all(packages)
        again = verification_of(packages)
        assert again is not None
        gate.set()
        await again
        await use_all(packages)
        assert verification_of(packages) is None

    async def use_all(packages: Packages) -> None:
        for digest in digests:
            assert await packages.for_call(digest, None, 60) is not None

    asyncio.run(run())
    assert verified == digests[:1]


def test_a_wheel_whose_own_record_is_wrong_is_installed_all_the_same(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha", files={"alpha.py": ""}, record={"alpha.py": "sha256=AAAA"})]
    assert had(make_settings(), "alpha").environment.versions == {"alpha": "1.0"}


def test_the_environment_unused_for_longest_is_removed_and_none_in_use(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel(name) for name in ("a", "b", "c", "d")]
    settings = make_settings(count=2)

    async def run() -> list[str]:
        packages = Packages(settings)
        made: list[Environment] = []
        using = ExitStack()

        def held() -> set[str]:
            # Only this thread changes what the pool has.
            assert threading.current_thread() is threading.main_thread()
            return {made[1].digest}

        for at, name in enumerate(("a", "b", "c", "d")):
            environment = await packages.environments.for_lock(lock_of(wheel(name)))
            manifest = settings.folder / "manifests" / f"{environment.folder}.json"
            os.utime(manifest, (at, at))
            made.append(environment)
            if name == "a":
                using.enter_context(packages.environments.use(environment.digest))
            if name == "b":
                packages.environments.held = held
            if name == "c":
                packages.environments.held = tuple
        using.close()
        return [name for name, each in zip("abcd", made, strict=True) if place_of(settings, each).exists()]

    # When c comes, a and b are in use. When d comes, only a is: b and c go.
    assert asyncio.run(run()) == ["a", "d"]


def test_an_environment_that_another_runner_uses_is_not_removed(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("a"), wheel("b")]
    settings = make_settings(count=1)

    async def run() -> None:
        other, packages = Packages(settings), Packages(settings)
        used = await other.environments.for_lock(lock_of(wheel("a")))
        await packages.environments.for_lock(lock_of(wheel("b")))
        assert place_of(settings, used).exists()

    asyncio.run(run())


def test_an_environment_that_several_calls_found_at_once_can_be_removed(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("a"), wheel("b")]
    settings = make_settings(count=1)
    first = had(settings, "a", kept=lock_of(wheel("a")))

    async def run() -> None:
        packages = Packages(settings)
        found = await asyncio.gather(*(packages.for_call(first.lock.digest, None, 60) for _ in range(3)))
        assert len({id(each) for each in found}) == 1
        await packages.environments.for_lock(lock_of(wheel("b")))
        assert not place_of(settings, first.environment).exists()

    asyncio.run(run())


def test_the_cache_is_removed_if_it_has_much_that_no_environment_uses(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel(name, files={f"{name}.bin": os.urandom(800 << 10)}) for name in "abcd"]
    settings = make_settings(count=1, bytes_max=1 << 20)
    for name, made in zip("abc", index.wheels, strict=False):
        had(settings, name, kept=lock_of(made))
        assert any(settings.folder.glob("cache/archive-*"))
    had(settings, "d", kept=lock_of(index.wheels[-1]))
    assert not any(settings.folder.glob("cache/archive-*"))
    assert [each.name for each in settings.folder.glob("environments/*/*.bin")] == ["d.bin"]


#: A runner that builds an environment, and is killed while it downloads.
RUNNER = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = {paths!r}
from server.packages.modules import had
from toolrack_runner.server.package_settings import PackageSettings
had(PackageSettings(True, Path({folder!r}), index={url!r}), "alpha")
"""


def test_a_killed_runner_leaves_no_process_and_the_next_removes_its_half_built_folder(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    settings = make_settings()
    first = had(settings, "alpha", kept=lock_of(index.wheels[0]))
    remove_tree(settings.folder)
    index.gate = threading.Event()
    index.downloading.clear()
    text = RUNNER.format(paths=sys.path[:2], folder=str(settings.folder), url=index.url)
    with subprocess.Popen([sys.executable, "-c", text]) as process:
        assert index.downloading.wait(60)
        started = children_of(process.pid)
        assert started
        process.send_signal(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), "the end of uv")
    assert len(list((settings.folder / "work").iterdir())) == 1
    index.gate.set()
    index.gate = None
    assert had(settings, "alpha").environment == first.environment
    assert list((settings.folder / "work").iterdir()) == []


def test_if_all_callers_leave_uv_is_killed_and_nothing_is_left(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    index.gate = threading.Event()
    settings = make_settings()
    # Other suites in this process may keep runners alive.
    others = {*children_of(os.getpid())}

    async def run() -> None:
        packages = Packages(settings)
        lock = lock_of(index.wheels[0])
        callers = [asyncio.create_task(packages.environments.for_lock(lock)) for _ in range(2)]
        await asyncio.to_thread(index.downloading.wait, 60)
        callers[0].cancel()
        await asyncio.wait(callers[:1])
        assert {*children_of(os.getpid())} - others
        callers[1].cancel()
        await asyncio.wait(callers)
        await asyncio.to_thread(until, lambda: not {*children_of(os.getpid())} - others, "the end of uv")
        await asyncio.to_thread(until, lambda: nothing_is_left(settings.folder), "the removal")

    asyncio.run(run())


def test_an_installation_that_takes_too_long_is_ended(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    index.gate = threading.Event()
    with pytest.raises(PackagesUnavailableError, match="TOOLRACK_PACKAGES_SECONDS"):
        had(make_settings(seconds=1), "alpha", kept=lock_of(index.wheels[0]))
    assert nothing_is_left(make_settings().folder)


def test_a_call_stops_waiting_at_its_deadline_and_the_build_goes_on(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    index.gate = threading.Event()
    gate = index.gate
    lock = lock_of(index.wheels[0])

    async def run() -> None:
        packages = Packages(make_settings())
        assert await packages.for_call(lock.digest, None, 1) is None
        seconds = 0.01
        while not index.downloading.is_set():
            with pytest.raises(PackagesUnavailableError, match="still being installed"):
                await packages.for_call(lock.digest, lock, seconds)
            seconds *= 2
        # Another caller who leaves does not end it.
        leaving = asyncio.create_task(packages.for_call(lock.digest, lock, 60))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait((leaving,))
        gate.set()
        found = await packages.for_call(lock.digest, None, 60)
        assert found is not None
        assert found.digest == lock.digest

    asyncio.run(run())


def test_a_call_is_refused_for_good_by_a_setting_of_the_operator_and_for_now_by_anything_else(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    lock = lock_of(index.wheels[0])

    async def error(settings: PackageSettings, digest: str, kept: object = lock) -> Exception:
        packages = Packages(settings)
        with pytest.raises((PackagesRefusedError, PackagesUnavailableError)) as raised:
            await packages.for_call(digest, kept, 60)  # type: ignore[arg-type]
        return raised.value

    async def run() -> None:
        refused = [await error(make_settings(is_on=False), lock.digest)]
        await Packages(make_settings()).for_call(lock.digest, lock, 60)
        refused.append(await error(make_settings(deny=("alpha",)), lock.digest, None))
        refused.append(await error(make_settings(allow=("beta",)), lock.digest, None))
        package = lock.packages[0]._replace(bytes=2 << 30)
        refused.append(await error(make_settings(), "sha256:0", lock._replace(packages=(package,))))
        assert {type(each) for each in refused} == {PackagesRefusedError}
        for each, setting in zip(refused, ("=on", "_DENY", "_ALLOW", "_MB"), strict=True):
            assert f"TOOLRACK_PACKAGES{setting}" in f"{each}"
            assert "operator" in f"{each}"
        elsewhere = lock._replace(platform="win32", packages=lock_of(wheel("beta")).packages)
        away = await error(make_settings(), elsewhere.digest, elsewhere)
        assert isinstance(away, PackagesUnavailableError)
        assert "Upload the module again" in f"{away}"

    asyncio.run(run())


def test_a_full_disk_leaves_nothing_and_can_be_tried_again(
    index: PackageIndex, make_settings: MakeSettings, tmp_path: Path
) -> None:
    """The disk is a tmpfs of 8 MB, where this test may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a tmpfs")
    try:
        names = [f"large{n}" for n in range(4)]
        index.wheels = [wheel(name, files={f"{name}.bin": os.urandom(3 << 20)}) for name in names]
        index.wheels.append(wheel("alpha"))
        settings = make_settings(folder=disk / "packages")
        with pytest.raises(PackagesUnavailableError, match="the disk of the runner is full"):
            had(settings, *names)
        assert nothing_is_left(settings.folder)
        used = sum(path.stat().st_size for path in settings.folder.rglob("*") if path.is_file())
        assert used < 1 << 20
        assert had(settings, "alpha").environment.versions == {"alpha": "1.0"}
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("has_room", [True, False])
def test_the_cache_is_removed_only_if_the_disk_has_little_room_whatever_uv_says(
    index: PackageIndex, make_settings: MakeSettings, tmp_path: Path, has_room: bool
) -> None:
    index.wheels = [wheel("alpha"), wheel("beta")]
    # A limit above the size of each disk stands for a disk that is nearly full.
    settings = make_settings(bytes_max=(1 << 20) if has_room else (1 << 60))
    had(settings, "alpha")
    liar = tmp_path / "uv"
    liar.write_text(
        "#!/bin/sh\nprintf 'error: x\\n  cause: No space left on device (os error 28)\\n' >&2\nexit 1\n"
    )
    liar.chmod(0o755)
    with pytest.raises(PackagesUnavailableError, match="the disk of the runner is full"):
        had(settings, "beta", uv=Uv(settings, str(liar)))
    assert any(settings.folder.glob("cache/archive-*")) == has_room


def test_a_folder_that_cannot_be_used_is_told_to_the_operator(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PackagesUnavailableError, match="The operator checks TOOLRACK_PACKAGES_DIR"):
        had(make_settings(folder=tmp_path / "file" / "packages"), "alpha")


def test_what_runners_that_have_ended_left_behind_is_found_also_with_the_pid_of_this_one(
    tmp_path: Path,
) -> None:
    """`other` is a runner that runs, also if it is in another container, whose processes are not seen here."""
    folders, other, ended = (Folders(tmp_path) for _ in range(3))
    for each in (folders, other, ended):
        each.open()
    # A runner whose modules have no packages makes the folders only.
    Folders(tmp_path).make()
    assert len(list(folders.runners.iterdir())) == 3
    kept = {folders.new_work().name, other.new_work().name}
    left = {ended.new_work().name, f"{os.getpid()}-0", "1-0"}
    for name in left:
        (folders.work / name).mkdir(exist_ok=True)
    (folders.environments / ("0" * 64)).mkdir()
    ended.close()
    found = {path.name for path in folders.left_behind()}
    assert left <= found
    assert not found & kept
    assert len(list(folders.runners.iterdir())) == 2
    assert list(folders.environments.iterdir()) == []
