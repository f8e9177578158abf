"""Reads the lock of a module's packages from a body, and gets the environment of a call."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from toolrack_runner.server.http.body import Body
from toolrack_runner.server.http.http_error import HttpError

if TYPE_CHECKING:
    from toolrack_runner.server.packages.environment import Environment
    from toolrack_runner.server.packages.lock import Lock
    from toolrack_runner.server.packages.packages import Packages

#: After how many seconds a caller may try again.
RETRY_SECONDS = 5
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


def lock_in(body: Body) -> "Lock | None":
    """The lock in the body; None if the field is absent or null. Raises HttpError."""
    value = body.get("lock")
    if value is None:
        return None
    # Imported only here, because most calls send no lock, and it would delay the start.
    from toolrack_runner.server.packages.lock import LockError, read_lock

    try:
        return read_lock(value)
    except LockError as error:
        raise HttpError("BODY_INVALID", f"lock cannot be used: {error}") from None


def environment_in(body: Body, lock: "Lock | None") -> str:
    """The digest of the environment that a call needs; empty if it needs none. Raises HttpError."""
    digest = body.optional_text("environment")
    if digest is None:
        if lock is not None:
            raise HttpError("BODY_INVALID", "a body with lock must have environment, the digest of the lock")
        return ""
    if not _DIGEST.fullmatch(digest):
        raise HttpError("BODY_INVALID", "environment must be sha256: and 64 lower-case hexadecimal digits")
    if lock is not None and lock.digest != digest:
        raise HttpError("BODY_INVALID", "environment is not the digest of lock")
    return digest


@asynccontextmanager
async def environment_of_call(
    packages: "Packages", digest: str, lock: "Lock | None", seconds: float, user: str
) -> "AsyncIterator[Environment]":
    """The environment with this digest, which is not removed during the `with` block. Built from the lock if it is missing.

    Raises HttpError.
    """
    from toolrack_runner.server.packages.refusal import PackagesUnavailableError

    with packages.environments.use(digest):
        try:
            found = await packages.for_call(digest, lock, seconds, user=user)
        except PackagesUnavailableError as error:
            raise packages_unavailable(
                f"nothing was run, because the packages are missing: {error}"
            ) from None
        if found is None:
            sentence = "this instance has no environment with this digest: repeat the request with source or files, and lock"
            raise HttpError("MODULE_UNKNOWN", sentence)
        yield found


def packages_unavailable(sentence: str) -> HttpError:
    """The error if the packages of a module cannot be installed now."""
    return HttpError("PACKAGES_UNAVAILABLE", sentence, retry_after_seconds=RETRY_SECONDS)
