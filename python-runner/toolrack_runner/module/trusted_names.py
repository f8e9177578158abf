"""Keeps the names that the runner uses as they were before user code replaced any.

A module may set `builtins.len`, `json.dumps`, `sys.modules[...]` or any name of the runner. Its own code sees what it has
set; the runner's code does not. This keeps reports correct. It is no security boundary: that is the process and its jail.
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
    """A copy of the namespaces. Made before the first line of user code."""

    def __init__(self) -> None:
        #: Each namespace, and a copy of it as user code left it.
        self._theirs: list[tuple[Namespace, Namespace]] = []
        self._restore = _restorer(self._theirs)

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code with its own changes in place, and restores our names whatever it does."""
        for space, left in self._theirs:
            space.update(left)
        return self._guarded(user_code, remember=True)

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls our code, which may call user code, and restores our names."""
        return self._guarded(ours, remember=False)

    def _guarded(self, work: Callable[[], T], *, remember: bool) -> T:
        # Bound before the work: it can replace anything that is looked up by name.
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
    """Replaces TrustedNames in a process that answers one call. A module that breaks the names breaks only this call.

    A forked child copies every page that it touches. Copying the names would be two thirds of the cost of a call.
    """

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code."""
        return user_code()

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls our code, which may call user code."""
        return ours()


Names = TrustedNames | NamesLeftAlone


def _restorer(theirs: list[tuple[Namespace, Namespace]]) -> Callable[[bool], None]:
    """A function that remembers their names and restores ours. It looks up nothing by name."""
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
