"""Reads one variable of the operator."""

from collections.abc import Mapping


class SettingsError(Exception):
    """A setting is wrong. The message is one sentence that names the variable or argument and the cure."""


def whole_number(
    environment: Mapping[str, str], name: str, default: int, *, lowest: int, highest: int
) -> int:
    """The number in a variable; `default` if it is not set. Raises SettingsError."""
    text = environment.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= highest:
        raise SettingsError(f"{name}: {text!r} is not a whole number from {lowest} to {highest}")
    return int(text)
