"""Restores names that the runner uses, if user code has replaced them.

A module may replace `builtins.len`, `json.dumps`, `sys.modules[...]` or any name of the runner. Code of the module sees its
replacements, but code of the runner does not. So reports are correct. The security does not depend on this, but on the jail
of the process.
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
    """Keeps copies of the namespaces as they were before the first line of user code ran."""

    def __init__(self) -> None:
        #: Each namespace, and a copy of it as user code has left it.
        self._theirs: list[tuple[Namespace, Namespace]] = []
        self._restore = _restorer(self._theirs)

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code, which sees the replacements that it has made so far. Then restores the runner's names."""
        for space, left in self._theirs:
            space.update(left)
        return self._guarded(user_code, remember=True)

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls code of the runner, which may call user code. Then restores the runner's names."""
        return self._guarded(ours, remember=False)

    def _guarded(self, work: Callable[[], T], *, remember: bool) -> T:
        # These names are looked up before `work`, because `work` can replace everything that is looked up by name.
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
    """Is used in place of TrustedNames in a process of one call. A module that replaces names can break only this call.

    A forked child copies each memory page to which it writes. Copying the names would take two thirds of the time of a call.
    """

    def run(self, user_code: Callable[[], T]) -> T:
        return user_code()

    def keep(self, ours: Callable[[], T]) -> T:
        return ours()


Names = TrustedNames | NamesLeftAlone


def _restorer(theirs: list[tuple[Namespace, Namespace]]) -> Callable[[bool], None]:
    """Makes a function that stores replacements in `theirs`, and then restores the runner's names.

    This function looks up nothing by name, because user code may have replaced every name.
    """
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
