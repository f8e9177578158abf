"""Removes the secrets of a call from texts, before the texts are shortened.

The service removes the secrets from everything that leaves a call. It would not find the part of a secret that is left when
a text was shortened. This is for accidents only: a module controls its process, so it can also change what is here.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator

_REDACTED = "[redacted]"
#: A line of a secret, or the beginning of one, is removed if it has this many characters. Shorter ones may be in any text.
_PART_CHARS_MIN = 16

#: The secrets. It is a list, because the names of this file get their first values back after each step of a call
#: (`trusted_names.py`).
_values: list[str] = []
#: What is searched, the longest first. It is made when a text must be shortened for the first time, because most calls need
#: none.
_forms: list[str] = []


def know_secrets(values: object) -> None:
    """Notes the secrets of the call of this process: `context["secrets"]`."""
    found = values.values() if isinstance(values, dict) else ()
    _values[:] = [value for value in found if type(value) is str and value.strip()]
    _forms.clear()


def shortened(text: str, chars_max: int, mark: str = "") -> str:
    """The beginning of a text, and `mark` if there is more. No secret is cut."""
    if len(text) <= chars_max:
        return text
    text = without_secrets(text)
    return text if len(text) <= chars_max else without_beginning(text[:chars_max]) + mark


def without_secrets(text: str) -> str:
    """The text with `[redacted]` in place of each secret and of each long line of one."""
    if _values:
        for form in _known():
            text = text.replace(form, _REDACTED)
    return text


def has_secret(text: str) -> bool:
    """Whether a secret is in the text. For a text of which only a part is shown, in which the service would not find it."""
    return any(form in text for form in _known())


def without_beginning(text: str) -> str:
    """The text without the beginning of a secret at its end. Python itself cuts the texts of some exceptions (`int`)."""
    if not _values:
        return text
    first = len(text)
    for form in _known():
        begin = form[:_PART_CHARS_MIN]
        at = text.find(begin, max(0, len(text) - len(form)))
        while at != -1 and not form.startswith(text[at:]):
            at = text.find(begin, at + 1)
        if at != -1:
            first = min(first, at)
    return text if first == len(text) else text[:first] + _REDACTED


def _known() -> list[str]:
    if not _forms:
        _forms.extend(sorted(set(_spelled(_values)), key=len, reverse=True))
    return _forms


def _spelled(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        whole = value.strip()
        lines = [line for line in map(str.strip, whole.split("\n")) if len(line) >= _PART_CHARS_MIN]
        for text in (value, whole, *lines):
            yield from (
                text,
                repr(text)[1:-1],
                json.dumps(text)[1:-1],
                json.dumps(text, ensure_ascii=False)[1:-1],
            )
        data = value.encode("utf-8", "replace")
        yield from (b64encode(data).decode(), urlsafe_b64encode(data).decode(), data.hex(), repr(data)[2:-1])
