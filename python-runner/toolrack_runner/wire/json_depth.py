"""How deep JSON is nested."""

from typing import Any


def is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects, as orjson makes them, lie in each other more than `levels` deep; without recursion."""
    level = [value]
    for _ in range(levels + 1):
        lists = [item for item in level if type(item) is list]
        dicts = [item for item in level if type(item) is dict]
        if not lists and not dicts:
            return False
        level = [item for held in lists for item in held]
        level += [item for held in dicts for item in held.values()]
    return True
