"""Tidies up a process between two calls of a module that may serve several (`reuse`).

Only what the next call must not find is removed: files, and changes of the process that no global of the module shows. A
module may have replaced names that this file uses. Then only later calls of the same user in the same session are wrong.
"""

import os
import signal

from toolrack_runner.child.home import Home
from toolrack_runner.remove_contents import remove_contents

#: The mode bits that new files of a child lack, as after the fork (`jail/hygiene.py`).
UMASK = 0o077

_environ = os.environ
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
# A module may replace these names.
_chdir, _listdir, _umask = os.chdir, os.listdir, os.umask
_putenv, _unsetenv, _setitimer = os.putenv, os.unsetenv, signal.setitimer
_remove_contents = remove_contents


class Tidy:
    """Knows the process as it was before its first call."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = os.getcwd()
        # The bytes of the variables, as `os.environ` keeps them. Comparing them takes less than reading each one.
        self._data: dict[bytes, bytes] = _environ._data  # type: ignore[attr-defined] # noqa: SLF001
        self._variables = self._data.copy()
        #: The names in the home, and the folders in it, which are empty. None if packages have written files into the home.
        self._folders = (
            None if home.files else [(".", sorted(home.folders)), *((each, []) for each in home.folders)]
        )

    def up(self) -> None:
        """Empties the home, and undoes changes of the working directory, the umask, the environment and timers."""
        for timer in _TIMERS:
            _setitimer(timer, 0)
        _umask(UMASK)
        _chdir(self._path)
        os.environ = _environ  # noqa: B003 - the module may have replaced it
        if self._data != self._variables:
            self._restore_variables()
        if not self._is_empty():
            _remove_contents(self._path)
            _chdir(self._path)
            self._home.fill()

    def _is_empty(self) -> bool:
        """Whether the home is as it was. Nearly every call leaves it so, and listing it takes less than emptying it."""
        if self._folders is None:
            return False
        try:
            for folder, names in self._folders:
                if sorted(_listdir(folder)) != names:
                    return False
        except OSError:
            return False
        return True

    def _restore_variables(self) -> None:
        for name in self._data:
            _unsetenv(name)
        self._data.clear()
        self._data.update(self._variables)
        for name, value in self._variables.items():
            _putenv(name, value)
