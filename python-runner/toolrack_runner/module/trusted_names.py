"""The names that the runner works with, kept from what user code puts in their place.

A module may set `builtins.len`, `json.dumps`, `sys.modules[...]` or any name of the runner. It sees its own version whenever
its code runs; the runner never does. This is for honest reports, not a boundary: the boundary is the process and its jail.
"""

import builtins
import difflib
import inspect
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Namespace = dict[str, Any]

_STANDARD = (builtins, difflib, inspect, json, json.decoder, json.encoder, os, sys)


class TrustedNames:
    """The namespaces as they are now; taken before the first line of user code."""

    def __init__(self) -> None:
        #: The same namespaces as user code left them, once it has run.
        self._theirs: list[tuple[Namespace, Namespace]] = []
        self._restore = _restorer(self._theirs)

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code with its own changes in place, and puts ours back whatever it does."""
        for space, left in self._theirs:
            space.update(left)
        return self._guarded(user_code, remember=True)

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls code of ours that may end up in user code, and puts our names back."""
        return self._guarded(ours, remember=False)

    def _guarded(self, work: Callable[[], T], *, remember: bool) -> T:
        # Bound before: what has a name can be replaced.
        restore, settrace, setprofile = self._restore, sys.settrace, sys.setprofile
        try:
            return work()
        finally:
            try:
                setprofile(None)
                settrace(None)
            except BaseException:  # noqa: BLE001 - a profiler may raise at any call, once: Python removes it then
                setprofile(None)
                settrace(None)
            restore(remember)


class NamesLeftAlone:
    """In place of TrustedNames where a process gives one answer, which is believed as far as its own call goes.

    To keep the names is to touch them, and a forked child copies every page that it touches: two thirds of what a call
    costs. Of a module that has broken the names its caller hears that its process could not answer.
    """

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code."""
        return user_code()

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls code of ours that may end up in user code."""
        return ours()


Names = TrustedNames | NamesLeftAlone


def _restorer(theirs: list[tuple[Namespace, Namespace]]) -> Callable[[bool], None]:
    """What remembers their names and puts ours back. It looks nothing up by name, and copies in place of comparing."""
    runner = __name__.partition(".")[0]
    modules = sys.modules.copy()
    own = [vars(module) for name, module in modules.items() if name.partition(".")[0] == runner]
    own_names = [(space, space.copy()) for space in own]
    standard = [(space, space.copy()) for space in (sys.modules, *map(vars, _STANDARD))]
    update, copy, clear, append = dict.update, dict.copy, list.clear, list.append
    setrecursionlimit, recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit()

    def restore(remember: bool) -> None:
        setrecursionlimit(recursion_limit)
        if remember:
            clear(theirs)
        for space, kept in standard:
            if remember:
                append(theirs, (space, copy(space)))
            update(space, kept)
        for space, kept in own_names:
            update(space, kept)

    return restore
