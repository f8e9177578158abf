"""Waits for work that must not be left alone."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def to_the_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of `work`. If the caller is cancelled meanwhile, the cancellation takes effect when `work` has ended."""
    ending = asyncio.create_task(work)
    is_cancelled = False
    while not ending.done():
        try:
            await asyncio.wait((ending,))
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    return ending.result()
