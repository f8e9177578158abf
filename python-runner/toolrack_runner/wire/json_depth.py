"""How deep JSON is nested."""

from typing import Any

import orjson

#: So many arrays and objects in each other orjson reads, and no more. A test compares them.
READER_LEVELS = 1_024


class TooDeep(ValueError):
    """It is JSON, and nested deeper than it may be."""


def read_json(data: bytes, levels: int) -> Any:
    """The value, with at most `levels` arrays and objects in each other; raises ValueError for no JSON, TooDeep for deeper.

    The reader itself finds out: the data is put so deep into arrays that it fails at one level too many. To look through
    the value would take longer than to read it.
    """
    # Fewer brackets than levels allowed: no need to look.
    if data.count(b"[") + data.count(b"{") <= levels:
        return orjson.loads(data)
    around = READER_LEVELS - levels
    try:
        value = orjson.loads(b"[" * around + data + b"]" * around)
    except ValueError:
        orjson.loads(data)
        raise TooDeep(f"more than {levels} levels") from None
    for _ in range(around):
        # Data such as `1],[1` would be JSON only here.
        if len(value) != 1:
            raise ValueError("more than one value")
        value = value[0]
    return value
