"""The context of a call: a dict with facts about the call, and a method by which the tool reports its progress."""

import time
from collections.abc import Callable
from math import inf, isfinite
from typing import Any, ClassVar

from toolrack_runner.child.module.facts import as_text, type_name
from toolrack_runner.near_miss import named
from toolrack_runner.rfc3339 import rfc3339
from toolrack_runner.wire.child_messages import PROGRESS_CHARACTERS_MAX
from toolrack_runner.wire.frames import JsonObject

#: The user in the context of calls that a check makes.
EXAMPLE_USER = "example"
#: If a spec has no `timeoutSeconds`, the seconds until the `deadline` in the context of its examples. They are as for a
#: call.
EXAMPLE_SECONDS = 30.0

#: Takes a fraction from 0 to 1 and a text.
TellProgress = Callable[[float, str], None]


def _nobody(fraction: float, text: str) -> None:
    """Drops the progress, because nobody listens to the examples of a check."""


class Context(dict[str, Any]):
    """What a handler gets as its parameter `context`. It is a dict for everything that accepts a dict."""

    #: Sends the progress. It belongs to the class, so that a context can be copied and pickled like any dict. This works
    #: because a process runs only one call.
    tell: ClassVar[TellProgress] = staticmethod(_nobody)

    def progress(self, fraction: float, text: str = "") -> None:
        """Tells the caller how much of the call is done. May be called in any thread and as often as the tool likes.

        `fraction` is a number from 0 to 1. Raises TypeError or ValueError for another fraction, or if the text is too long.
        """
        said = as_text(text)
        if said is None:
            raise TypeError(f"progress(fraction, text): text is {type_name(text)}, and must be a str")
        if len(said) > PROGRESS_CHARACTERS_MAX:
            raise ValueError(
                f"progress(fraction, text): text has {len(said):,} characters, and may have {PROGRESS_CHARACTERS_MAX:,}"
            )
        Context.tell(_number(fraction), said)


class Secrets(dict[str, Any]):
    """`context["secrets"]`: the values of the secrets by their names. It is a dict for everything that accepts a dict."""

    def __missing__(self, name: object) -> Any:
        """Raises KeyError with a sentence, because a name alone does not tell the author where to add it."""
        names = ", ".join(f"{each}" for each in self) or "none"
        wanted = named([as_text(name) or type_name(name)])
        raise KeyError(f"{wanted} is not among the secrets of this spec: it names {names}")


def context_of(facts: JsonObject) -> Context:
    """The context for a handler. It has `secrets` even if the spec names none, so a missing name raises its sentence."""
    secrets = facts.get("secrets")
    return Context(facts | {"secrets": Secrets(secrets if isinstance(secrets, dict) else {})})


def example_context(tool: str, timeout_seconds: float | None, caller: JsonObject) -> JsonObject:
    """The context for an example of a check. `caller` is the context that the example states."""
    return {
        "user": EXAMPLE_USER,
        "invocationId": EXAMPLE_USER,
        "tool": tool,
        "deadline": rfc3339(time.time() + (timeout_seconds or EXAMPLE_SECONDS)),
        "session": None,
        "workflow": None,
        "caller": caller,
    }


def _number(fraction: object) -> float:
    if isinstance(fraction, bool | str | bytes) or not hasattr(fraction, "__float__"):
        raise TypeError(
            f"progress(fraction, text): fraction is {type_name(fraction)}, and must be a number from 0 to 1"
        )
    try:
        number = float(fraction)
    except OverflowError:
        number = inf
    if not isfinite(number) or not 0 <= number <= 1:
        raise ValueError(
            f"progress(fraction, text): fraction is {number:g}, and must be from 0 to 1; half of the work is 0.5"
        )
    return number
