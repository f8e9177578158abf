"""Replaces every name it can find: of builtins, os, json, sys.modules, and of the runner."""

import builtins
import json
import os
import sys


def junk(*args, **kwargs):
    raise RuntimeError("a name of the runner was replaced")


def run(word: str) -> dict:
    """Answer, in spite of it all."""
    return {"word": word}


TOOL_SPECS = [
    {
        "name": "patches_everything:run",
        "handler": run,
        "examples": [{"arguments": {"word": "a"}, "result": {"word": "a"}}],
    }
]

for module in [module for name, module in sys.modules.items() if name.startswith("toolrack_runner")]:
    for name in [name for name in vars(module) if not name.startswith("__")]:
        setattr(module, name, junk)
for name in [name for name in vars(json) if not name.startswith("__")]:
    setattr(json, name, junk)
for part in (json.encoder, json.decoder) if hasattr(json.encoder, "JSONEncoder") else ():
    for name in [name for name in vars(part) if not name.startswith("__")]:
        setattr(part, name, junk)
for name in ("write", "read", "close", "dup2", "environ", "getpid", "fstat"):
    setattr(os, name, junk)
for name in [name for name in sys.modules if name.startswith(("toolrack_runner", "json", "inspect"))]:
    sys.modules[name] = None
for name in (
    "len",
    "isinstance",
    "issubclass",
    "str",
    "dict",
    "list",
    "type",
    "print",
    "repr",
    "getattr",
    "min",
    "max",
):
    setattr(builtins, name, junk)
del builtins.enumerate
sys.setrecursionlimit(60)
