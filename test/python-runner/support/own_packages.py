"""A runner with packages of its own, as an operator adds them."""

import errno
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from support.live_runner import ROOT, LiveRunner, live_runner


@dataclass(frozen=True)
class PackagesRunner:
    """A running one, and its log so far."""

    live: LiveRunner
    log: Path

    def has_logged(self, text: str) -> bool:
        return text in self.log.read_text()


@contextmanager
def runner_with(
    packages: dict[str, str], *arguments: str, changed: tuple[str, str, str] | None = None
) -> Iterator[PackagesRunner]:
    """A runner in whose environment these files are installed, by their paths.

    `changed` is a file of the runner, a text in it, and the text that replaces it.
    """
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = Path(folder) / "python-runner"
        shutil.copytree(ROOT / "toolrack_runner", copy / "toolrack_runner")
        shutil.copy(ROOT / "__main__.py", copy)
        environment = copy / ".venv"
        shutil.copytree(sys.prefix, environment, symlinks=True, copy_function=_linked)
        installed = environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        for path, text in packages.items():
            (installed / path).parent.mkdir(exist_ok=True)
            (installed / path).write_text(text)
        if changed is not None:
            file, text, other = changed
            source = (copy / file).read_text()
            assert text in source
            (copy / file).write_text(source.replace(text, other))
        log = Path(folder) / "log"
        with log.open("wb") as written, live_runner(*arguments, root=copy, log=written) as live:
            yield PackagesRunner(live, log)


def _linked(source: str, target: str) -> None:
    """One more name of a file, because a copy of all packages takes seconds."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copy2(source, target)
