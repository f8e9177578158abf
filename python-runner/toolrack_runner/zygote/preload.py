"""Imports that are done once, before any child is forked."""

import importlib
import os

#: Modules of the standard library that tools commonly import; they cost a zygote 15 MB and a child nothing.
STANDARD = (
    "asyncio",
    "base64",
    "collections",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "functools",
    "hashlib",
    "inspect",
    "itertools",
    "json",
    "math",
    "pathlib",
    "random",
    "re",
    "statistics",
    "string",
    "tempfile",
    "textwrap",
    "traceback",
    "typing",
    "urllib.parse",
    "urllib.request",
    "uuid",
    "zoneinfo",
)

#: Numeric libraries start a thread for each core when they are imported, and a process with threads can't be forked safely.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def preload(packages: tuple[str, ...]) -> dict[str, str]:
    """Imports the packages; returns the reason for each that can't be."""
    for name in SINGLE_THREADED:
        os.environ[name] = "1"
    failed: dict[str, str] = {}
    for package in packages:
        try:
            importlib.import_module(package)
        except Exception as error:  # noqa: BLE001 - a package may raise anything
            failed[package] = f"{type(error).__name__}: {error}"
    return failed
