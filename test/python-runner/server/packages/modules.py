"""Heads of modules, and what a module with them gets."""

import asyncio
import json
from collections.abc import Callable

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.head import Head, read_head
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.packages import Had, Packages
from toolrack_runner.server.packages.progress import Listener
from toolrack_runner.server.packages.uv import Uv

MakeSettings = Callable[..., PackageSettings]


def source_with(*dependencies: str) -> bytes:
    """A module with these dependencies."""
    return f"# /// script\n# dependencies = {json.dumps(dependencies)}\n# ///\n".encode()


def head_with(*dependencies: str) -> Head:
    """The head of such a module."""
    head = read_head("words", source_with(*dependencies))
    assert head is not None
    return head


def had(
    settings: PackageSettings,
    *dependencies: str,
    kept: Lock | None = None,
    listener: Listener | None = None,
    uv: Uv | None = None,
) -> Had:
    """What a module with these dependencies gets from a runner with these settings, which has just started."""

    async def run() -> Had:
        packages = Packages(settings, uv)
        try:
            return await packages.for_module(head_with(*dependencies), kept, listener)
        finally:
            packages.close()

    return asyncio.run(run())
