"""Turns a failure of uv into a sentence for the author or the operator."""

import re
import signal

from toolrack_runner.server.packages.hidden import Hidden
from toolrack_runner.server.packages.program import Ended
from toolrack_runner.server.packages.refusal import (
    DiskFullError,
    PackagesRefusedError,
    PackagesUnavailableError,
)
from toolrack_runner.wire.fault import FaultKind

#: The most characters of uv's explanation that a fault repeats.
EXPLANATION_MAX = 1_500
#: An address. It may hold a password, or name a host of the operator.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s`)]{1,2000}", re.ASCII)
_PATH = re.compile(r"(?<![\w.])/[^\s`:)]{1,1000}")
_NETWORK = (
    *("Failed to fetch", "error sending request", "Request failed after", "HTTP status server error"),
    *("operation timed out", "network timeout", "error decoding response body", "Connection reset"),
)
_DENIED = ("valid authentication credentials", "(401 ", "(403 ", "HTTP status client error")
_NO_WHEEL = (
    *("no usable wheels", "no wheels", "building from source is disabled", "has no wheel"),
    *("no matching platform", "no matching Python", "matching Python ABI"),
)
_BROKEN = ("Failed to extract archive", "The wheel is invalid", "Invalid wheel", "Failed to install:")
#: Signals with which a program ends itself. A signal from outside, such as that of a system without memory, is none of them.
_OWN_SIGNALS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL)
#: What uv says if the system has no process or thread for it.
_NO_THREAD = ("Resource temporarily unavailable", "WouldBlock")
#: How uv explains that a requirement of the module or of a package can never be met.
_UNUSABLE: tuple[tuple[str, FaultKind, str], ...] = (
    (
        "Couldn't parse requirement in",
        "packages_missing",
        "a requirement has a version that cannot exist. Ask for another version",
    ),
    (
        "URL dependencies must be expressed as direct",
        "packages_unsafe",
        "a package needs another one from an address, and packages come only from the index. Ask for another package",
    ),
)
#: How uv explains a failure of the resolution, in the order in which it is looked for.
_REFUSALS: tuple[tuple[tuple[str, ...], FaultKind, str], ...] = (
    (
        ("was not found in the", "there are no versions of"),
        "packages_missing",
        "a package was not found in the index. Check its name",
    ),
    (
        ("yanked",),
        "packages_yanked",
        "its publisher has withdrawn (yanked) a version. Ask for another version",
    ),
    (
        _NO_WHEEL,
        "packages_no_wheel",
        "a package has no wheel for the runner, and nothing is built here. Ask for another version or package",
    ),
    (
        ("depends on", "And because", "are incompatible", "conflict"),
        "packages_conflict",
        "the packages cannot be used together. Ask for other versions",
    ),
)


def explained(
    ended: Ended, hidden: Hidden, *, is_locked: bool = False
) -> PackagesRefusedError | PackagesUnavailableError:
    """The error for a uv that has failed. Texts of uv are shown without addresses and paths, and without what is hidden.

    With `is_locked`, uv was asked for the packages of a lock. The index had them, so their lack is no fault of the module.
    """
    text = ended.text
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DiskFullError()
    if (what := _what_is_too_large(ended)) is not None:
        return PackagesRefusedError("packages_too_large", f"{what}. Ask for another package.")
    if "Hash mismatch" in text:
        sentence = (
            "a package is not the one that was locked: the index serves a file with another sha256. Upload the module with "
            "?relock=1 if its author trusts the new file."
        )
        return PackagesRefusedError("packages_changed", sentence)
    if is_locked and "(404 " in text:
        return _gone(ended, hidden)
    if any(sign in text for sign in _DENIED):
        return PackagesUnavailableError(
            "the index of packages refuses the runner. The operator checks the credentials in TOOLRACK_PACKAGES_INDEX."
        )
    if any(sign in text for sign in _NETWORK) or (ended.status != 1 and "Failed to download" in text):
        return PackagesUnavailableError("the index of packages cannot be reached, or fails. Try again.")
    if ended.status < 0:
        return PackagesUnavailableError(f"uv was ended by signal {-ended.status}. Try again.")
    return _of_resolution(ended, hidden, is_locked=is_locked)


def _what_is_too_large(ended: Ended) -> str | None:
    if "File too large" in ended.text:
        return "a file of the packages is above TOOLRACK_PACKAGES_MB"
    if -ended.status in _OWN_SIGNALS and not any(sign in ended.text for sign in _NO_THREAD):
        return "uv cannot read the metadata of a package: it needs too much memory"
    return None


def _of_resolution(
    ended: Ended, hidden: Hidden, *, is_locked: bool
) -> PackagesRefusedError | PackagesUnavailableError:
    text, explanation = ended.text, _explanation(ended.text, hidden)
    for sign, kind, meaning in _UNUSABLE:
        if sign in text:
            return PackagesRefusedError(kind, f"{meaning}. uv says: {explanation}")
    if any(sign in text for sign in _BROKEN):
        sentence = f"a wheel is broken. Ask for another version or package. uv says: {explanation}"
        return PackagesRefusedError("packages_unsafe", sentence)
    if "No solution found" not in text:
        return PackagesUnavailableError(f"uv failed with status {ended.status}: {explanation}")
    if is_locked:
        return _gone(ended, hidden)
    for signs, kind, meaning in _REFUSALS:
        if any(sign in text for sign in signs):
            return PackagesRefusedError(kind, f"{meaning}. uv says: {explanation}")
    meaning = "there is no version of a package that fits. Ask for other versions"
    return PackagesRefusedError("packages_missing", f"{meaning}. uv says: {explanation}")


def _gone(ended: Ended, hidden: Hidden) -> PackagesUnavailableError:
    return PackagesUnavailableError(
        "a locked package is gone: the index does not serve it, and it is not in the cache of the runner. Try again, or "
        f"upload the module with ?relock=1 for other versions. uv says: {_explanation(ended.text, hidden)}"
    )


def _explanation(text: str, hidden: Hidden) -> str:
    """uv's words on one line, without what must not be shown."""
    lines = [line.strip() for line in hidden.of(text).splitlines()]
    start = next((at for at, line in enumerate(lines) if line.startswith("error:")), 0)
    words = " ".join(" ".join(lines[start:]).split())
    words = words.removeprefix("error: ").removeprefix(
        "No solution found when resolving dependencies cause: "
    )
    shown = _PATH.sub("a path of the runner", _ADDRESS.sub("the index", words))
    return shown if len(shown) <= EXPLANATION_MAX else f"{shown[:EXPLANATION_MAX]}…"
