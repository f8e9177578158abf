"""How much JSON would be once it is parsed, found out without parsing it: `[[],[],...]` takes thirty times its bytes."""

import re

#: Of one message or result. As objects they take some 100 MB at worst, and a tenth of a second.
VALUES_MAX = 500_000

# A whole string, or a run of what stands between values.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]++', re.DOTALL)
_QUOTE = 0x22


def is_too_heavy(data: bytes) -> bool:
    """Whether it holds more than VALUES_MAX values; of what is no JSON, any answer is right."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") <= VALUES_MAX:
        return False
    values = 0
    for token in _TOKEN.finditer(data):
        if data[token.start()] != _QUOTE:
            values += token.end() - token.start()
            if values > VALUES_MAX:
                return True
    return False
