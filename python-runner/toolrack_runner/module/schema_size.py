"""How large a schema is, and what is said of one that is too large."""

import json

from toolrack_runner.module.limits import SCHEMA_BYTES_MAX
from toolrack_runner.module.plain import JsonObject


def schema_bytes(parameters: JsonObject) -> int:
    """The bytes of the schema's JSON."""
    return len(json.dumps(parameters, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def too_large(size: int) -> str:
    """The sentence for its author."""
    return f"its parameters are {size:,} bytes; at most {SCHEMA_BYTES_MAX:,} are allowed. Simplify them."
