"""Writes times in the format of RFC 3339."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Writes a Unix time in UTC, with milliseconds, such as `2026-07-01T09:30:00.000Z`."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
