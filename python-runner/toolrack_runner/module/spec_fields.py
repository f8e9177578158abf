"""The optional fields of a spec, each read by one function that raises FieldRefused with a sentence."""

import re
from collections.abc import Callable

from toolrack_runner.module.class_facts import type_name
from toolrack_runner.module.limits import FIELD_BYTES_MAX, HOSTS_MAX, SECRETS_MAX, TIMEOUT_SECONDS_MAX
from toolrack_runner.module.plain import JsonObject, JsonValue, NotPlain, plain_value
from toolrack_runner.network.hosts import is_address, read_host, why_no_address

_FIELD_DEPTH_MAX = 32
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_SECRET = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_PORT = re.compile(r"[1-9][0-9]{4}")


class FieldRefused(Exception):
    """A field of a spec that can't be used; its text is the sentence."""


def read_plain(key: str, value: object) -> JsonValue:
    """The plain JSON of a field; nothing behind it is code of the module."""
    try:
        copied = plain_value(value, key, depth_max=_FIELD_DEPTH_MAX)
    except NotPlain as refused:
        raise FieldRefused(f"{refused}. Write plain JSON data") from None
    if len(str(copied)) > FIELD_BYTES_MAX:
        raise FieldRefused(f"{key} holds more than {FIELD_BYTES_MAX:,} characters. Shorten it")
    return copied


def read_annotations(value: object) -> JsonObject:
    """Hints about the tool's effects, named as in MCP."""
    annotations = read_plain("annotations", value)
    if not isinstance(annotations, dict):
        raise FieldRefused("annotations is not a dict. Write {'readOnlyHint': True} or leave it out")
    for hint in _HINTS:
        if hint in annotations and not isinstance(annotations[hint], bool):
            raise FieldRefused(
                f"{hint} of annotations is {type_name(annotations[hint])}. Write True or False"
            )
    if not isinstance(annotations.get("title", ""), str):
        raise FieldRefused("title of annotations is not a string")
    return annotations


def read_timeout(value: object) -> float:
    """The seconds that one call may take."""
    seconds = read_plain("timeoutSeconds", value)
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 < seconds <= TIMEOUT_SECONDS_MAX
    ):
        raise FieldRefused(
            f"timeoutSeconds is not a number above 0 and up to {TIMEOUT_SECONDS_MAX:,}. Write seconds, such as 30"
        )
    return seconds


def read_secrets(value: object) -> tuple[str, ...]:
    """The names of the secrets that a call is given."""
    wanted = "names such as 'WEATHER_API_KEY' (capitals, digits and _)"
    return _names("secrets", value, SECRETS_MAX, lambda text: _SECRET.fullmatch(text) is not None, wanted)


def read_network(value: object) -> tuple[str, ...]:
    """The hosts that a call may reach."""
    listed = read_plain("network", value)
    for position, host in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(host, str) and is_address(host):
            raise FieldRefused(why_no_address(position))
        port = host.rpartition(":")[2] if isinstance(host, str) else ""
        if _PORT.fullmatch(port) and int(port) > 65_535:
            raise FieldRefused("network names a port above 65535")
    wanted = "host names such as 'api.example.com' or 'api.example.com:8443'"
    return _names("network", listed, HOSTS_MAX, lambda text: read_host(text) is not None, wanted)


def _names(
    key: str, value: object, count_max: int, is_name: Callable[[str], bool], wanted: str
) -> tuple[str, ...]:
    listed = read_plain(key, value)
    if not isinstance(listed, list) or not all(isinstance(each, str) and is_name(each) for each in listed):
        raise FieldRefused(f"{key} is not a list of {wanted}")
    if len(listed) > count_max:
        raise FieldRefused(f"{key} has {len(listed)} entries; at most {count_max} are allowed")
    return tuple(dict.fromkeys(str(each) for each in listed))
