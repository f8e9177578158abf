"""The rule for tool names, the same as in packages/contract/src/tool-name.ts.

Tests check both with packages/contract/vectors/names.json.
"""

import re

TOOL_NAME_RULE = (
    "a tool name is 1 to 128 characters: a letter or _ first, then letters, digits, _ . : or - (ASCII)"
)

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_RESERVED = frozenset({"constructor", "prototype", "__proto__"})


def is_tool_name(name: str) -> bool:
    is_reserved = name in _RESERVED or (len(name) >= 4 and name.startswith("__") and name.endswith("__"))
    return _TOOL_NAME.fullmatch(name) is not None and not is_reserved
