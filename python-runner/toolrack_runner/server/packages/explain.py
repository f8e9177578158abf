"""Turns a failure of uv into a sentence for the author or the operator.

Names of files and other texts of strangers are in the messages of uv. So a sign is looked for only at the beginning of a
sentence of uv, where uv alone decides what is written.
"""

import errno
import re
import signal
import sys
from collections.abc import Collection, Sequence

from toolrack_runner.distributions import meant_distribution
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
#: The most characters of a package's name that a fault shows.
NAME_SHOWN_MAX = 80
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: An address. It may hold a password, or name a host of the operator.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s`)]{1,2000}", re.ASCII)
_PATH = re.compile(r"(?<![\w.])/[^\s`:)]{1,1000}")
#: What uv writes in front of its sentences. Texts of strangers of several lines have other indents.
_SENTENCE = re.compile(r"(?:error: |  cause: )(.*)")
#: An error of the system, such as `No space left on device (os error 28)`.
_OF_THE_SYSTEM = re.compile(r"[A-Za-z ]{1,100} \(os error (\d{1,4})\)", re.ASCII)
_NETWORK = (
    *("Failed to fetch", "error sending request", "Request failed after", "HTTP status"),
    *("operation timed out", "Failed to download distribution due to network timeout"),
    *("error decoding response body", "Connection reset"),
)
_DENIED = ("HTTP status client error (401 ", "HTTP status client error (403 ")
#: How the hint begins that uv gives for a page of the index that it may not read. The address is that of the operator.
_DENIED_HINT = re.compile(r"^hint: An index URL .*credentials", re.MULTILINE)
_NOT_SERVED = "HTTP status client error (404 "
_NOT_FOUND = "was not found in the"
_NO_WHEEL = (
    *("no usable wheels", "no wheels", "building from source is disabled", "has no wheel"),
    *("no matching platform", "no matching Python", "matching Python ABI"),
)
#: A package that uv names, by its normalised name (PEP 503), perhaps with versions.
_NAMED = re.compile(
    r"(?:Because|and|all versions of) ([a-z0-9]+(?:-[a-z0-9]+)*)(?:[=<>!]{1,2}[\w.,*+!<>=]{1,80})? "
    r"(?:was not found|ha(?:s|ve) no)",
    re.ASCII,
)
_BROKEN = (
    *("Failed to extract archive", "The wheel is invalid", "Invalid wheel", "Failed to install:"),
    "`RECORD` file is invalid",
)
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
        (_NOT_FOUND, "there are no versions of"),
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
    ended: Ended,
    hidden: Hidden,
    *,
    asked: Collection[str] = (),
    has_index: bool = True,
    is_locked: bool = False,
) -> PackagesRefusedError | PackagesUnavailableError:
    """The error for a uv that has failed. Texts of uv are shown without addresses and paths, and without what is hidden.

    `asked` are the normalised names in the head of the module. Without an index, uv has only the folder of wheels. With
    `is_locked`, uv was asked for the packages of a lock. The index had them, so their lack is no fault of the module.
    """
    said = _sentences(ended.text)
    if {errno.ENOSPC, errno.EDQUOT} & _errors_of_the_system(said):
        return DiskFullError()
    if (what := _what_is_too_large(ended, said)) is not None:
        return PackagesRefusedError("packages_too_large", f"{what}. Ask for another package.")
    if _has(said, "Hash mismatch"):
        sentence = (
            "a package is not the one that was locked: the index serves a file with another sha256. Upload the module with "
            "?relock=1 if its author trusts the new file."
        )
        return PackagesRefusedError("packages_changed", sentence)
    if _has(said, _NOT_SERVED):
        return _gone(ended, hidden) if is_locked else _not_served(ended, hidden)
    if (why := _why_unavailable(ended, said, has_index=has_index)) is not None:
        return PackagesUnavailableError(why)
    return _of_resolution(ended, said, hidden, asked, has_index=has_index, is_locked=is_locked)


def _sentences(text: str) -> list[str]:
    """The sentences of uv about the error and its causes. What follows an empty line are hints, with texts of strangers."""
    # Only uv ends lines with this character. Python also knows others, which a name of a file may have.
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("error: ")), len(lines))
    end = next((at for at, line in enumerate(lines[start:], start) if not line), len(lines))
    return [found[1] for line in lines[start:end] if (found := _SENTENCE.match(line)) is not None]


def _has(sentences: Sequence[str], *signs: str) -> bool:
    return any(sentence.startswith(signs) for sentence in sentences)


def _errors_of_the_system(sentences: Sequence[str]) -> set[int]:
    """The numbers of the errors that are causes."""
    found: set[int] = set()
    for sentence in sentences:
        # Such as: failed to write to file `/a/path`: No space left on device (os error 28)
        error = sentence.rpartition("`: ")[2] if sentence.startswith("failed to ") else sentence
        if (matched := _OF_THE_SYSTEM.match(error)) is not None:
            found.add(int(matched[1]))
    return found


def _why_unavailable(ended: Ended, said: Sequence[str], *, has_index: bool) -> str | None:
    """Why nothing can be installed now, if neither the module nor its packages are the reason."""
    if _has(said, *_DENIED) or _DENIED_HINT.search(ended.text):
        return "the index of packages refuses the runner. The operator checks the credentials in TOOLRACK_PACKAGES_INDEX."
    if _has(said, *_NETWORK) or (ended.status != 1 and _has(said, "Failed to download")):
        return "the index of packages cannot be reached, or fails. Try again."
    if ended.status < 0:
        return f"uv was ended by signal {-ended.status}. Try again."
    if not has_index and _has(said, "Failed to read `--find-links`"):
        return (
            "the folder of wheels cannot be read. The operator checks TOOLRACK_PACKAGES_WHEELS of the runner."
        )
    return None


def _what_is_too_large(ended: Ended, said: Sequence[str]) -> str | None:
    if errno.EFBIG in _errors_of_the_system(said):
        return "a file of the packages is above TOOLRACK_PACKAGES_MB"
    if -ended.status in _OWN_SIGNALS and not any(sign in ended.text for sign in _NO_THREAD):
        return "uv cannot read the metadata of a package: it needs too much memory"
    return None


def _of_resolution(
    ended: Ended,
    said: Sequence[str],
    hidden: Hidden,
    asked: Collection[str],
    *,
    has_index: bool,
    is_locked: bool,
) -> PackagesRefusedError | PackagesUnavailableError:
    text, explanation = ended.text, _explanation(ended.text, hidden)
    for sign, kind, meaning in _UNUSABLE:
        if sign in text:
            return PackagesRefusedError(kind, f"{meaning}. uv says: {explanation}")
    if _has(said, *_BROKEN):
        sentence = f"a wheel is broken. Ask for another version or package. uv says: {explanation}"
        return PackagesRefusedError("packages_unsafe", sentence)
    if not _has(said, "No solution found"):
        return PackagesUnavailableError(f"uv failed with status {ended.status}: {explanation}")
    if is_locked:
        return _gone(ended, hidden)
    for signs, kind, meaning in _REFUSALS:
        if any(sign in text for sign in signs):
            which = _which(kind, explanation, asked, has_index) or f"{meaning}."
            return PackagesRefusedError(kind, f"{which} uv says: {explanation}")
    meaning = "there is no version of a package that fits. Ask for other versions"
    return PackagesRefusedError("packages_missing", f"{meaning}. uv says: {explanation}")


def _gone(ended: Ended, hidden: Hidden) -> PackagesUnavailableError:
    return PackagesUnavailableError(
        "a locked package is gone: the index does not serve it, and it is not in the cache of the runner. Try again, or "
        f"upload the module with ?relock=1 for other versions. uv says: {_explanation(ended.text, hidden)}"
    )


def _not_served(ended: Ended, hidden: Hidden) -> PackagesUnavailableError:
    return PackagesUnavailableError(
        "the index of packages lists a file that it does not serve. Try again, or ask for another version. uv says: "
        f"{_explanation(ended.text, hidden)}"
    )


def _which(kind: FaultKind, explanation: str, asked: Collection[str], has_index: bool) -> str:
    """What is said of a package that uv names as one that cannot be had. Empty if uv names none."""
    found = _NAMED.search(explanation)
    if found is None or kind not in ("packages_missing", "packages_no_wheel"):
        return ""
    name = found[1]
    if len(name) > NAME_SHOWN_MAX:
        return ""
    meant = meant_distribution(name) if name in asked else ""
    if not has_index:
        what = f"the folder of wheels (TOOLRACK_PACKAGES_WHEELS) has no wheel of {name} for Python {_PYTHON}."
        return f"{what} {meant or 'Ask the operator to add it, or use another package.'}"
    if kind == "packages_no_wheel":
        return f"the package {name} has no wheel for the runner, and nothing is built here. {meant or _OTHER}"
    if name not in asked:
        return f"the package {name}, which another package needs, was not found in the index. {_OTHER}"
    return f"the package {name} was not found in the index. {meant or 'Check its name.'}"


_OTHER = "Ask for another version or package."


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
