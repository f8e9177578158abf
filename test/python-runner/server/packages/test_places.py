"""The places for installations are shared between users, and a build without a place ends with its callers."""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, head_with
from server.packages.test_environments import children_of
from server.packages.test_install import lock_of, nothing_is_left
from support.package_index import PackageIndex
from support.until import SECONDS, until
from support.wheels import Wheel, wheel
from toolrack_runner.server.packages import places
from toolrack_runner.server.packages.bytecode import MEMORY_BYTES_OF_ALL
from toolrack_runner.server.packages.packages import Packages
from toolrack_runner.server.packages.places import WAITING_PER_USER, Waiting, places_for
from toolrack_runner.server.packages.refusal import PackagesUnavailableError


class Crowd:
    """Users who install wheels from an index whose downloads wait for `gate`."""

    def __init__(self, index: PackageIndex, packages: Packages) -> None:
        self._index = index
        self._packages = packages
        self.gate = index.gate = threading.Event()
        index.wheels = [wheel(name) for name in ("one", "two", "three", "four")]

    def wheel(self, name: str) -> Wheel:
        return next(each for each in self._index.wheels if each.name == name)

    def asks(self, user: str, name: str) -> "asyncio.Task[object]":
        lock = lock_of(self.wheel(name))
        return asyncio.create_task(self._packages.environments.for_lock(lock, user=user))

    def has_begun(self, name: str) -> bool:
        return self.wheel(name).file in self._index.downloads

    async def begins(self, name: str) -> None:
        await asyncio.to_thread(until, lambda: self.has_begun(name), f"the download of {name}")


def in_a_crowd(
    index: PackageIndex,
    make_settings: MakeSettings,
    act: Callable[[Crowd, Packages], Awaitable[None]],
    **more: int,
) -> None:
    async def run() -> None:
        packages = Packages(make_settings(**more))
        try:
            await act(Crowd(index, packages), packages)
        finally:
            packages.close()

    asyncio.run(run())


def test_one_user_never_has_all_places(index: PackageIndex, make_settings: MakeSettings) -> None:
    async def act(crowd: Crowd, _: Packages) -> None:
        asked = [crowd.asks("eve", "one"), crowd.asks("eve", "two"), crowd.asks("eve", "three")]
        await crowd.begins("one")
        asked.append(crowd.asks("bob", "four"))
        await crowd.begins("four")
        assert not crowd.has_begun("two")
        assert not crowd.has_begun("three")
        crowd.gate.set()
        await asyncio.gather(*asked)

    in_a_crowd(index, make_settings, act)


def test_the_resolutions_of_one_user_do_not_have_all_places(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def act(crowd: Crowd, packages: Packages) -> None:
        asked = [crowd.asks("eve", "one")]
        await crowd.begins("one")
        asked.append(asyncio.create_task(packages.for_module(head_with("two"), None, user="eve")))
        asked.append(asyncio.create_task(packages.for_module(head_with("four"), None, user="bob")))
        await crowd.begins("four")
        assert not any("/simple/two" in path for path in index.requests)
        crowd.gate.set()
        await asyncio.gather(*asked)

    in_a_crowd(index, make_settings, act)


def test_a_user_of_a_build_that_waits_for_another_user_lends_it_the_own_place(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def act(crowd: Crowd, _: Packages) -> None:
        asked = [crowd.asks("eve", "one")]
        await crowd.begins("one")
        asked.append(crowd.asks("eve", "two"))
        asked.append(crowd.asks("bob", "two"))
        await crowd.begins("two")
        crowd.gate.set()
        await asyncio.gather(*asked)

    in_a_crowd(index, make_settings, act)


def test_a_build_without_a_place_ends_when_nobody_waits_for_it(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def act(crowd: Crowd, packages: Packages) -> None:
        asked = [crowd.asks("eve", "one")]
        await crowd.begins("one")
        lock = lock_of(crowd.wheel("two"))
        with pytest.raises(PackagesUnavailableError, match="still being installed"):
            await packages.for_call(lock.digest, lock, 0.01, user="eve")
        asked.append(crowd.asks("eve", "three"))
        crowd.gate.set()
        await asyncio.gather(*asked)
        assert not crowd.has_begun("two")

    in_a_crowd(index, make_settings, act)


def test_the_time_of_an_installation_begins_with_its_place(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def act(crowd: Crowd, _: Packages) -> None:
        asked = [crowd.asks("eve", "one"), crowd.asks("eve", "two")]
        ended: list[float] = []
        for each in asked:
            with pytest.raises(PackagesUnavailableError, match="TOOLRACK_PACKAGES_SECONDS"):
                await each
            ended.append(time.monotonic())
        assert ended[1] - ended[0] > 0.9

    in_a_crowd(index, make_settings, act, seconds=1)


def test_the_wait_for_a_place_is_bounded(
    index: PackageIndex, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(crowd: Crowd, _: Packages) -> None:
        first = crowd.asks("eve", "one")
        await crowd.begins("one")
        monkeypatch.setattr(places, "WAIT_SECONDS", 0.01)
        with pytest.raises(PackagesUnavailableError, match="no place for an installation"):
            await asyncio.wait_for(crowd.asks("eve", "two"), SECONDS)
        crowd.gate.set()
        await first

    in_a_crowd(index, make_settings, act)


def test_only_so_many_installations_of_one_user_wait() -> None:
    async def run() -> None:
        queue = places_for(asyncio.get_running_loop(), is_for_one_user=False)
        for _ in range(1 + WAITING_PER_USER):
            Waiting(queue).join("eve")
        with pytest.raises(PackagesUnavailableError, match="of your installations"):
            Waiting(queue).join("eve")
        Waiting(queue).join("bob")

    asyncio.run(run())


def compilers() -> dict[int, tuple[str, int]]:
    """The processes of this one that compile, with the folder and the limit of their addresses."""
    found: dict[int, tuple[str, int]] = {}
    for pid in children_of(os.getpid()):
        with suppress(OSError, StopIteration):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            script = next(at for at, word in enumerate(words) if word.endswith(b"/compile_files.py"))
            limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
            limit = next(line for line in limits if line.startswith("Max address space")).split()[3]
            if limit.isdigit():
                found[pid] = words[script + 1].decode(), int(limit)
    return found


def test_all_processes_that_compile_have_one_budget_of_memory(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def act(crowd: Crowd, _: Packages) -> None:
        crowd.gate.set()
        index.wheels = [
            wheel(name, files={f"{name}/m{at}.py": f"y = {at}\n" + "x = 1\n" * 20_000 for at in range(60)})
            for name in ("one", "two")
        ]
        asked = [crowd.asks("eve", "one"), crowd.asks("bob", "two")]

        def both_compile() -> bool:
            seen = compilers().values()
            assert sum(limit for _, limit in seen) <= MEMORY_BYTES_OF_ALL
            return len({folder for folder, _ in seen}) == 2

        await asyncio.to_thread(until, both_compile, "two compilations")
        for each in asked:
            each.cancel()
        await asyncio.wait(asked)
        await asyncio.to_thread(until, lambda: not compilers(), "the end of the compilation")
        await asyncio.to_thread(until, lambda: nothing_is_left(make_settings().folder), "the removal")

    in_a_crowd(index, make_settings, act)
