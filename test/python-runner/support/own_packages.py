"""Runners with packages of their own, as an operator adds them."""

import errno
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from support.live_runner import ROOT, LiveRunner, live_runner


@dataclass(frozen=True)
class PackagesRunner:
    """A running one, and its log so far."""

    live: LiveRunner
    log: Path

    def has_logged(self, text: str) -> bool:
        return text in self.log.read_text()


@contextmanager
def root_with(packages: dict[str, str]) -> Iterator[Path]:
    """A copy of the runner in whose environment these files are installed, by their paths."""
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        root = Path(folder) / "python-runner"
        shutil.copytree(ROOT / "toolrack_runner", root / "toolrack_runner")
        shutil.copy(ROOT / "__main__.py", root)
        shutil.copytree(sys.prefix, root / ".venv", symlinks=True, copy_function=_linked)
        installed = root / ".venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        for path, text in packages.items():
            (installed / path).parent.mkdir(exist_ok=True)
            (installed / path).write_text(text)
        yield root


@contextmanager
def runner_of(root: Path, *arguments: str) -> Iterator[PackagesRunner]:
    """The runner of such a copy."""
    with NamedTemporaryFile() as log, live_runner(*arguments, root=root, log=log.file) as live:
        yield PackagesRunner(live, Path(log.name))


@contextmanager
def runner_with(packages: dict[str, str], *arguments: str) -> Iterator[PackagesRunner]:
    """A runner with these packages."""
    with root_with(packages) as root, runner_of(root, *arguments) as runner:
        yield runner


def _linked(source: str, target: str) -> None:
    """One more name of a file, because a copy of all packages takes seconds."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copy2(source, target)
