"""Environments that a test installs itself, and a pool in a process of its own that runs calls and checks with them."""

import compileall
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from support.live_runner import NOBODY, readable_root
from toolrack_runner.packages_path import PACKAGES_PATH

DRIVER = Path(__file__).with_name("pool_driver.py")


@dataclass(frozen=True)
class Environments:
    """The folder of all environments."""

    folder: Path
    #: The user that installs them: the runner's own.
    owner: int = field(default_factory=os.geteuid)

    def install(self, files: dict[str, str | bytes], **versions: str) -> dict[str, Any]:
        """Installs these files as an environment, and returns the fields of its `Environment`."""
        name = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
        place = self.folder / name
        for path, content in files.items():
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        place.mkdir(exist_ok=True)
        compileall.compile_dir(str(place), ddir=PACKAGES_PATH, quiet=2)
        for file in (place, *place.rglob("*")):
            if not file.is_symlink():
                file.chmod(0o755 if file.is_dir() else 0o644)
                os.chown(file, self.owner, self.owner)
        tops = {path.partition("/")[0].partition(".")[0] for path in files}
        return {
            "digest": f"sha256:{name}",
            "folder": name,
            "library_bytes": sum(file.stat().st_size for file in place.rglob("*.so")),
            "versions": {each.replace("_", "-"): version for each, version in versions.items()},
            "modules": sorted(filter(str.isidentifier, tops)),
        }


@dataclass(frozen=True)
class LivePool:
    """A pool in another process."""

    process: "subprocess.Popen[str]"
    environments: Environments

    def _ask(self, **asked: Any) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def check(self, name: str, source: str, environment: dict[str, Any] | None = None) -> dict[str, Any]:
        """The report on a module; `log` is what it has printed, `error` why there is none."""
        return self._ask(do="check", name=name, source=source, environment=environment)

    def call(
        self,
        source: str,
        tool: str,
        environment: dict[str, Any] | None = None,
        *,
        refill: bool = False,
        reuse: int = 1,
        **arguments: Any,
    ) -> dict[str, Any]:
        """The outcome of a call. With `refill`, the next call of the module finds a child that waits for it."""
        asked = {"source": source, "tool": tool, "arguments": arguments, "refill": refill, "reuse": reuse}
        return self._ask(do="call", environment=environment, **asked)

    def age(self) -> int:
        """Lets a minute pass for all parked children. Returns how many have ended."""
        ended: int = self._ask(do="age")["ended"]
        return ended

    def in_use(self) -> list[str]:
        """The digests of the environments that are in use."""
        digests: list[str] = self._ask(do="in_use")["digests"]
        return digests

    def missing(self) -> dict[str, str]:
        """The layers of the jail that are off."""
        missing: dict[str, str] = self._ask(do="missing")["missing"]
        return missing


@contextmanager
def environments(*, mode: int = 0o755) -> Iterator[Environments]:
    """An empty folder of environments."""
    with tempfile.TemporaryDirectory(prefix="toolrack-packages-") as folder:
        os.chmod(folder, mode)
        yield Environments(Path(folder))


@contextmanager
def live_pool(
    *arguments: str, as_nobody: bool = False, all_environments: Environments | None = None
) -> Iterator[LivePool]:
    """A pool of whoever runs the tests, or of an ordinary user."""
    with environments() as own, readable_root(as_nobody) as (root, python):
        found = all_environments or own
        if as_nobody:
            os.chown(found.folder, NOBODY, NOBODY)
            found = replace(found, owner=NOBODY)
        with tempfile.TemporaryDirectory() as copied:
            os.chmod(copied, 0o755)
            driver = Path(copied) / "pool_driver.py"
            driver.write_bytes(DRIVER.read_bytes())
            driver.chmod(0o644)
            process = subprocess.Popen(
                [python, "-I", str(driver), str(root), str(found.folder), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                user=NOBODY if as_nobody else None,
                group=NOBODY if as_nobody else None,
                extra_groups=[] if as_nobody else None,
            )
            assert process.stdin
            assert process.stdout
            try:
                yield LivePool(process, found)
            finally:
                process.stdin.close()
                process.stdout.close()
                process.wait(60)
