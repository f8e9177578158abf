"""The runner's own folder in the system's temporary one: the place where roots and work directories are mounted or made."""

import os

from toolrack_runner.remove_contents import remove_contents


def make_base() -> str:
    """A new folder that others may pass through and not list."""
    path = f"{os.environ.get('TMPDIR', '/tmp')}/toolrack-runner-{os.urandom(8).hex()}"  # noqa: S108 - the name can't be guessed
    os.mkdir(path, 0o711)
    os.chmod(path, 0o711)  # noqa: S103 - slot uids pass through it, whatever the umask
    return path


def remove_base(path: str) -> None:
    """Removes it with what is in it. Every child is dead by then."""
    here = os.getcwd()
    try:
        remove_contents(path)
        os.chdir(here)
        os.rmdir(path)
    except OSError:
        pass
