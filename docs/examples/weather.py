"""A tool module: a function for each tool, and TOOL_SPECS, which says what a model may call."""

from datetime import date, timedelta


def get_report(location: str, days: int = 1) -> str:
    """Get a short weather report for a place.

    Args:
        location: City or region.
        days: How many days the report covers, at most seven.
    """
    print("asked for", location)
    return f"{location}: cloudy for {min(days, 7)} day(s)."


def get_temperatures(location: str, days: int = 1) -> list[dict]:
    """Get the lowest and highest temperature of each day in degrees Celsius."""
    first = date(2026, 1, 1)
    return [
        {"location": location, "date": str(first + timedelta(days=number)), "min": 9 + number, "max": 15 + number}
        for number in range(min(days, 7))
    ]


TOOL_SPECS = [
    {
        "name": "weather:get_report",
        "handler": get_report,
        "examples": [{"arguments": {"location": "Bern"}, "contains": "Bern: cloudy"}],
    },
    {
        "name": "weather:get_temperatures",
        "handler": get_temperatures,
        "annotations": {"readOnlyHint": True},
    },
]
