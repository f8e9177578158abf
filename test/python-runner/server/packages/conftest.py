"""What the suites about packages share: an index on this machine, and packages with a folder of their own."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from server.packages.modules import MakeSettings
from support.package_index import PackageIndex
from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages import uv
from toolrack_runner.server.packages.tree import remove_tree


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    """An index without packages."""
    with PackageIndex().serving() as index:
        yield index


@pytest.fixture
def make_settings(
    tmp_path: Path, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeSettings]:
    """Settings with the index and an own folder. Other settings may be given."""
    # An index that a test has stopped stays away. uv would wait for seconds before it asks again.
    monkeypatch.setattr(uv, "_RETRIES", 0)

    def make(**more: Any) -> PackageSettings:
        fields: dict[str, Any] = {"is_on": True, "folder": tmp_path / "packages", "index": index.url}
        return PackageSettings(**(fields | more))

    with ExitStack() as stack:
        stack.callback(remove_tree, tmp_path / "packages")
        yield make
