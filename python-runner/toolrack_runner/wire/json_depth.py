"""How deep JSON is nested, and how many values it holds, found out before or while it is parsed."""

import re
from typing import Any

import orjson

#: How many levels of arrays and objects orjson reads. A test compares it.
READER_LEVELS = 1_024
#: Values of one message or result. As objects they take some 100 MB at worst, and a tenth of a second. Parsed JSON such as
#: `[[],[],...]` takes thirty times its bytes.
VALUES_MAX = 500_000

# A whole string, or a run of what stands between values.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]++', re.DOTALL)
_QUOTE = 0x22


class TooDeepError(ValueError):
    """The JSON is nested deeper than it may be."""


def read_json(data: bytes, levels: int) -> Any:
    """The value, with at most `levels` arrays and objects in each other; raises TooDeepError, and ValueError for no JSON.

    The reader itself finds out: the data is put so deep into arrays that the reader fails at one level too many. To look
    through the value would take longer than to read it.
    """
    # Fewer brackets than levels allowed: no need to look.
    if data.count(b"[") + data.count(b"{") <= levels:
        return orjson.loads(data)
    around = READER_LEVELS - levels
    try:
        value = orjson.loads(b"[" * around + data + b"]" * around)
    except ValueError:
        orjson.loads(data)
        raise TooDeepError(f"more than {levels} levels") from None
    for _ in range(around):
        # Data such as `1],[1` would be JSON only here.
        if len(value) != 1:
            raise ValueError("more than one value")
        value = value[0]
    return value


def is_too_heavy(data: bytes) -> bool:
    """Whether the JSON holds more than VALUES_MAX values, found out without parsing it."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") <= VALUES_MAX:
        return False
    values = 0
    for token in _TOKEN.finditer(data):
        if data[token.start()] != _QUOTE:
            values += token.end() - token.start()
            if values > VALUES_MAX:
                return True
    return False
