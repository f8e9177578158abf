"""The names that the runner works with, kept from what user code puts in their place.

A module may set `builtins.len`, `json.dumps`, `sys.modules[...]` or any name of the runner. It sees its own version whenever
its code runs; the runner never does. This is for honest reports, not a boundary: the boundary is the process and its jail.
"""

import ast
import builtins
import difflib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Namespace = dict[str, Any]

_STANDARD = (ast, builtins, difflib, inspect, json, json.decoder, json.encoder, os, re, sys)


class TrustedNames:
    """The namespaces as they are now; taken before the first line of user code."""

    def __init__(self) -> None:
        self._theirs: list[tuple[Namespace, Namespace]] = []
        self._restore = _restorer(self._theirs)

    def run(self, user_code: Callable[[], T]) -> T:
        """Calls user code with its own changes in place, and puts ours back whatever it does."""
        for space, changes in self._theirs:
            space.update(changes)
        self._theirs.clear()
        return self.keep(user_code)

    def keep(self, ours: Callable[[], T]) -> T:
        """Calls code of ours that may end up in user code, and puts our names back."""
        # Bound before: what has a name can be replaced.
        restore, settrace, setprofile = self._restore, sys.settrace, sys.setprofile
        try:
            return ours()
        finally:
            try:
                setprofile(None)
                settrace(None)
            except BaseException:  # noqa: BLE001 - a profiler may raise at any call, once: Python removes it then
                setprofile(None)
                settrace(None)
            restore()


def _restorer(theirs: list[tuple[Namespace, Namespace]]) -> Callable[[], None]:
    """What puts our names back and remembers theirs. It looks nothing up by name."""
    runner = __name__.partition(".")[0]
    own = [
        (vars(module), vars(module).copy())
        for name, module in sys.modules.copy().items()
        if name.startswith(runner)
    ]
    standard = [(space, space.copy()) for space in (sys.modules, *map(vars, _STANDARD))]
    update, get, missing = dict.update, dict.get, object()
    setrecursionlimit, recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit()

    def restore() -> None:
        setrecursionlimit(recursion_limit)
        for space, kept in own:
            update(space, kept)
        for space, kept in standard:
            changes = {}
            for name in kept:
                found = get(space, name, missing)
                if found is not missing and found is not kept[name]:
                    changes[name] = found
            if changes:
                theirs.append((space, changes))
            update(space, kept)

    return restore
