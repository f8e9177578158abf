"""Limits how deeply JSON is nested and how many values it contains, before or while it is parsed."""

import re
from typing import Any

#: How many levels of arrays and objects orjson reads. A test checks this number.
READER_LEVELS = 1_024
#: How many values one message or result may contain. As Python objects, they take at most about 100 MB, and parsing them
#: takes at most a tenth of a second. The objects for `[[],[],...]` take thirty times the bytes of the text.
VALUES_MAX = 500_000

# A whole string, or a run of commas and opening brackets.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]++', re.DOTALL)
_QUOTE = 0x22


class TooDeepError(ValueError):
    """The JSON is nested deeper than it may be."""


def read_json(data: bytes, levels: int) -> Any:
    """Reads a value that is nested at most `levels` deep. Raises TooDeepError, and ValueError if it is not JSON.

    The data is put into so many arrays that orjson itself fails if the data has one level too many. A search through the
    parsed value would take more time than parsing it.
    """
    # Only the server process reads JSON here. A zygote imports no installed package unless a module needs it.
    import orjson

    if data.count(b"[") + data.count(b"{") <= levels:
        return orjson.loads(data)
    around = READER_LEVELS - levels
    try:
        value = orjson.loads(b"[" * around + data + b"]" * around)
    except ValueError:
        orjson.loads(data)
        raise TooDeepError(f"more than {levels} levels") from None
    for _ in range(around):
        # Data such as `1],[1` is JSON only inside of the added arrays, so it is refused.
        if len(value) != 1:
            raise ValueError("more than one value")
        value = value[0]
    return value


def is_too_heavy(data: bytes) -> bool:
    """Whether the JSON contains more than VALUES_MAX values. Does not parse the JSON."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") <= VALUES_MAX:
        return False
    values = 0
    for token in _TOKEN.finditer(data):
        if data[token.start()] != _QUOTE:
            values += token.end() - token.start()
            if values > VALUES_MAX:
                return True
    return False


def is_deeper(value: object, levels: int) -> bool:
    """True if lists and dicts (no subclasses) are nested more than `levels` deep. Not recursive, so any depth is safe."""
    level = [value]
    for _ in range(levels + 1):
        lists = [item for item in level if type(item) is list]
        dicts = [item for item in level if type(item) is dict]
        if not lists and not dicts:
            return False
        level = [item for held in lists for item in held]
        level += [item for held in dicts for item in held.values()]
    return True
