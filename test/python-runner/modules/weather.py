"""Two tools as the convention shows them."""


def get_report(location: str, context=None) -> str:
    """Get a short weather report for a place."""
    user = (context or {}).get("user", "nobody")
    return f"The weather in {location} is cloudy (asked by {user})."


def get_temperatures(location: str, days: int = 1) -> dict:
    """Get the lowest and highest temperature of each day (°C)."""
    return {"location": location, "days": [{"min_c": 9, "max_c": 15} for _ in range(days)]}


TOOL_SPECS = [
    {
        "name": "weather:get_report",
        "description": "Get a short weather report for a place.",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string", "description": "City or region."}},
            "required": ["location"],
        },
        "handler": get_report,
        "annotations": {"readOnlyHint": True},
        "timeoutSeconds": 5,
        "examples": [
            {
                "arguments": {"location": "Bern"},
                "context": {"room": "kitchen"},
                "result": "The weather in Bern is cloudy (asked by example).",
            },
            {"arguments": {"location": "Bern"}, "contains": "cloudy"},
        ],
    },
    {
        "name": "weather:get_temperatures",
        "description": "Get the lowest and highest temperature of each day (°C).",
        "handler": get_temperatures,
        "examples": [
            {
                "arguments": {"location": "Bern"},
                "result": {"location": "Bern", "days": [{"min_c": 9, "max_c": 15}]},
            }
        ],
    },
]
