"""The optional fields of a spec. Each is read by one function, which raises SpecError."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from toolrack_runner.child.module.facts import type_name
from toolrack_runner.child.module.plain import NotPlainError, plain_value
from toolrack_runner.hosts import is_address, read_host, why_no_address
from toolrack_runner.limits import (
    CALL_LIMITS_MAX,
    EXAMPLES_MAX,
    FIELD_BYTES_MAX,
    HOSTS_MAX,
    SECRETS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from toolrack_runner.near_miss import did_you_mean
from toolrack_runner.wire.child_messages import REUSE_MAX, REUSE_USUAL
from toolrack_runner.wire.fault import SpecError
from toolrack_runner.wire.frames import JsonObject, JsonValue

#: How many levels a field of a spec may have, which is as many as a schema may have.
_FIELD_DEPTH_MAX = 32
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_SECRET = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
#: What a report and a definition write before the name of a secret of the caller.
CALLER: Final = "caller:"
#: The most characters of an entry that a fault shows.
_SHOWN_MAX = 80
_PORT = re.compile(r"[1-9][0-9]{4}")
_field_error = partial(SpecError, "field_invalid")
_example_error = partial(SpecError, "examples_invalid")
_EXAMPLE_KEYS = ("arguments", "context", "result", "contains")


@dataclass(frozen=True, slots=True)
class Example:
    """An example call. If `has_result` is true, it must return `result`. If `contains` is set, its text must contain it."""

    index: int
    arguments: JsonObject
    context: JsonObject
    result: JsonValue
    has_result: bool
    contains: str | None


def read_annotations(value: object) -> JsonObject:
    """Hints about the effects of the tool, named as in MCP."""
    annotations = _plain("annotations", value)
    if not isinstance(annotations, dict):
        raise _field_error("annotations is not a dict. Write {'readOnlyHint': True} or leave it out.")
    for hint in _HINTS:
        if hint in annotations and not isinstance(annotations[hint], bool):
            given = type_name(annotations[hint])
            raise _field_error(f"{hint} of annotations is {given}. Write True or False.")
    if not isinstance(annotations.get("title", ""), str):
        raise _field_error("title of annotations is not a string.")
    return annotations


def read_timeout(value: object) -> float:
    """The seconds that one call may take."""
    seconds = _plain("timeoutSeconds", value)
    if isinstance(seconds, int | float) and seconds is not True and 0 < seconds <= TIMEOUT_SECONDS_MAX:
        return seconds
    raise _field_error(
        f"timeoutSeconds is not a number above 0 and up to {TIMEOUT_SECONDS_MAX:,}. Write seconds, such as 30."
    )


def read_limits(value: object) -> JsonObject:
    """How many calls each user may make a minute, and run at once: `{'callsPerMinute': 30, 'concurrent': 2}`."""
    limits = _plain("limits", value)
    if not isinstance(limits, dict):
        raise _field_error(
            "limits is not a dict. Write {'callsPerMinute': 30, 'concurrent': 2} or leave it out."
        )
    for key, limit in limits.items():
        if key not in CALL_LIMITS_MAX:
            raise _field_error(
                f"limits has a key '{key[:64]}' that is not known{did_you_mean(key, tuple(CALL_LIMITS_MAX))} "
                f"It may have {' and '.join(CALL_LIMITS_MAX)}."
            )
        most = CALL_LIMITS_MAX[key]
        if type(limit) is not int or not 1 <= limit <= most:
            raise _field_error(
                f"{key} of limits is not a whole number from 1 to {most:,}. It counts each user alone."
            )
    return limits


def read_reuse(value: object) -> int:
    """How many calls one process may serve. True means REUSE_USUAL."""
    calls = _plain("reuse", value)
    if calls is True:
        return REUSE_USUAL
    if type(calls) is int and 1 <= calls <= REUSE_MAX:
        return calls
    raise _field_error(
        f"reuse is neither True nor a whole number from 1 to {REUSE_MAX:,}. "
        "Write True if a process may serve several calls of a user, or leave it out."
    )


def read_on_failure(value: object) -> JsonObject:
    """What the service does after a failure. The service checks the keys, because it follows them."""
    strategy = _plain("onFailure", value)
    if isinstance(strategy, dict):
        return strategy
    raise _field_error("onFailure is not a dict. Write {'retry': {'times': 2}} or leave it out.")


def read_secrets(value: object) -> tuple[str, ...]:
    """The names of the secrets that a call gets. A secret of the caller is `caller:` and its name."""
    listed = _plain("secrets", value)
    wanted = (
        "names such as 'WEATHER_API_KEY' (capitals, digits and _), "
        "or {'name': 'WEATHER_API_KEY', 'of': 'caller'} for a secret of the caller"
    )
    texts = [_secret(each) for each in listed] if isinstance(listed, list) else listed
    names = _names("secrets", texts, SECRETS_MAX, _is_secret, wanted)
    for name in names:
        if CALLER + name in names:
            raise _field_error(f"secrets names '{name}' twice, once of the caller. Both would have one name.")
    return names


def _secret(value: JsonValue) -> JsonValue:
    """`{'name': 'X', 'of': 'caller'}` as a text. Anything else as it is, except a text that is already in this form."""
    if isinstance(value, dict) and value.keys() == {"name", "of"} and value["of"] == "caller":
        name = value["name"]
        return f"{CALLER}{name}" if isinstance(name, str) else None
    return None if isinstance(value, str) and value.startswith(CALLER) else value


def _is_secret(text: str) -> bool:
    return _SECRET.fullmatch(text.removeprefix(CALLER)) is not None


def read_network(value: object) -> tuple[str, ...]:
    """The hosts that a call may connect to."""
    listed = _plain("network", value)
    for position, host in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(host, str) and is_address(host):
            raise _field_error(f"{why_no_address(position)}.")
        port = host.rpartition(":")[2] if isinstance(host, str) else ""
        if _PORT.fullmatch(port) and int(port) > 65_535:
            raise _field_error("network names a port above 65535.")
        if isinstance(host, str) and read_host(host) is None:
            raise _field_error(_no_host(position, host))
    wanted = "host names such as 'api.example.com' or 'api.example.com:8443'"
    return _names("network", listed, HOSTS_MAX, lambda text: read_host(text) is not None, wanted)


def _no_host(position: int, text: str) -> str:
    """The sentence about an entry of `network` that is no host. It names the host of a URL, which is what most write."""
    shown = repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")
    named_host = text.partition("://")[2].partition("/")[0]
    host = named_host if read_host(named_host) is not None else "api.example.com"
    return f"network[{position}] is {shown}, which is no host. Write the host only, such as '{host}'."


def read_examples(value: object) -> tuple[Example, ...]:
    """Reads `[{arguments, context?, result? | contains?}]`."""
    listed = _plain("examples", value)
    if not isinstance(listed, list):
        raise _example_error("examples is not a list. Write [{'arguments': {…}, 'result': …}].")
    if len(listed) > EXAMPLES_MAX:
        raise _example_error(
            f"there are {len(listed)} examples; at most {EXAMPLES_MAX} are allowed. Keep the most useful ones."
        )
    return tuple(_example(index, each) for index, each in enumerate(listed))


def _example(index: int, value: JsonValue) -> Example:
    place = f"examples[{index}]"
    if not isinstance(value, dict):
        raise _example_error(f"{place} is not a dict. Write {{'arguments': {{…}}, 'result': …}}.")
    for key in value:
        if key not in _EXAMPLE_KEYS:
            meant = did_you_mean(key, _EXAMPLE_KEYS)
            keys = ", ".join(_EXAMPLE_KEYS)
            raise _example_error(
                f"{place} has a key '{key[:64]}' that is not known{meant} It may have {keys}."
            )
    arguments, context, contains = value.get("arguments"), value.get("context", {}), value.get("contains")
    if not isinstance(arguments, dict):
        raise _example_error(f"{place} has no 'arguments', the dict that the handler is called with.")
    if not isinstance(context, dict):
        raise _example_error(f"the context of {place} is not a dict.")
    if contains is not None and not isinstance(contains, str):
        raise _example_error(f"'contains' of {place} is not a string.")
    return Example(index, arguments, context, value.get("result"), "result" in value, contains)


def _plain(key: str, value: object) -> JsonValue:
    """Copies a field to plain JSON data. Then reading the field runs no code of the module."""
    refuse = _example_error if key == "examples" else _field_error
    try:
        copied = plain_value(value, key, depth_max=_FIELD_DEPTH_MAX)
    except NotPlainError as error:
        raise refuse(f"{error}. Write plain JSON data.") from None
    if len(str(copied)) > FIELD_BYTES_MAX:
        raise refuse(f"{key} holds more than {FIELD_BYTES_MAX:,} characters. Shorten it.")
    return copied


def _names(
    key: str, value: object, count_max: int, is_name: Callable[[str], bool], wanted: str
) -> tuple[str, ...]:
    listed = _plain(key, value)
    if not isinstance(listed, list) or not all(isinstance(each, str) and is_name(each) for each in listed):
        raise _field_error(f"{key} is not a list of {wanted}.")
    if len(listed) > count_max:
        raise _field_error(f"{key} has {len(listed)} entries; at most {count_max} are allowed.")
    return tuple(dict.fromkeys(str(each) for each in listed))
