"""If there are too many environments, the user who has the most loses one, also after a restart of the runner."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, head_with
from server.packages.test_install import lock_of
from support.package_index import PackageIndex
from support.wheels import wheel
from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.owners import OWNERS_MAX, Owners
from toolrack_runner.server.packages.packages import Packages


class Users:
    """Users of a runner. Each use of an environment is one second later than the last."""

    def __init__(self, settings: PackageSettings, index: PackageIndex) -> None:
        self._settings = settings
        self._second = 0
        self._index = index
        self._manifests: dict[str, Path] = {}
        self.packages = Packages(settings)

    def restart(self) -> None:
        self.packages.close()
        self.packages = Packages(self._settings)

    async def uses(self, user: str, *names: str) -> None:
        for name in names:
            if name not in self._manifests:
                self._index.wheels.append(wheel(name))
            lock = lock_of(wheel(name))
            had = await self.packages.for_module(head_with(name), lock, user=user)
            self._second += 1
            self._manifests[name] = self._settings.folder / f"manifests/{had.environment.folder}.json"
            os.utime(self._manifests[name], (self._second, self._second))

    @property
    def kept(self) -> str:
        return " ".join(name for name, manifest in self._manifests.items() if manifest.exists())

    def owners_of(self, name: str) -> list[str]:
        found: list[str] = json.loads(self._manifests[name].with_suffix(".owners").read_text())
        return found


@pytest.mark.parametrize("restarts", [False, True])
def test_uploads_of_one_user_remove_no_environment_of_another(
    index: PackageIndex, make_settings: MakeSettings, *, restarts: bool
) -> None:
    async def run() -> None:
        users = Users(make_settings(count=4), index)
        await users.uses("bob", "b1", "b2")
        for name in ("e1", "e2", "e3", "e4"):
            if restarts:
                users.restart()
            await users.uses("eve", name)
        assert users.kept == "b1 b2 e3 e4"
        assert len(list((make_settings().folder / "manifests").iterdir())) == 8
        users.packages.close()

    asyncio.run(run())


def test_an_environment_of_several_users_stays_while_one_of_them_may_have_it(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def run() -> None:
        users = Users(make_settings(count=3), index)
        await users.uses("bob", "shared")
        await users.uses("eve", "shared", "e1", "e2")
        assert users.owners_of("shared") == ["bob", "eve"]
        await users.uses("eve", "e3")
        assert users.kept == "shared e2 e3"
        assert users.owners_of("shared") == ["bob"]
        # A user who uses it again counts again.
        await users.uses("eve", "shared")
        assert users.owners_of("shared") == ["bob", "eve"]
        users.packages.close()

    asyncio.run(run())


def test_a_call_counts_as_a_use_and_not_too_many_users_are_remembered(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    async def run() -> None:
        users = Users(make_settings(), index)
        index.wheels = []
        await users.uses("bob", "shared")
        digest = (await users.packages.for_module(head_with("shared"), None, user="bob")).lock.digest
        for at in range(OWNERS_MAX + 1):
            await users.packages.for_call(digest, None, 60, user=f"user{at}")
        assert len(users.owners_of("shared")) == OWNERS_MAX
        assert "user0" in users.owners_of("shared")
        users.packages.close()

    asyncio.run(run())


def test_a_call_of_a_user_who_is_not_remembered_reads_the_file_once(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.make()
    (folders.manifests / "0.json").touch()
    before = Owners(folders)
    for at in range(OWNERS_MAX):
        before.add("sha256:0", f"user{at}")
    restarted = Owners(folders)
    assert not restarted.knows("sha256:0", "eve")
    restarted.add("sha256:0", "eve")
    assert restarted.knows("sha256:0", "eve")
    assert "eve" not in restarted.of("sha256:0")
