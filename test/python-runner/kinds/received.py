"""Says how the runner reads the arguments of tools, and which values handlers receive.

A line of the standard input is `{"module", "source"}`, answered by the report on each tool, or
`{"calls": [[tool, arguments]]}`, answered by what each handler would receive. Both are the runner's own work.
"""

import base64
import datetime as dt
import decimal
import enum
import json
import pathlib
import posixpath
import sys
import uuid
from typing import Any

import pydantic
import pydantic_core

from toolrack_runner.child.module.checked_tool import checked_tool
from toolrack_runner.child.module.convert import ArgumentsError
from toolrack_runner.child.module.load import LoadedModule, load_module

LOADED: dict[str, LoadedModule] = {}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        answer = load(asked) if "source" in asked else [outcome(*call) for call in asked["calls"]]
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def load(asked: dict[str, Any]) -> dict[str, Any]:
    module = load_module(asked["module"], asked["source"].encode())
    reports: dict[str, Any] = {}
    for name, tool in module.tools.items():
        report = checked_tool(module, tool)
        LOADED[name] = module
        reports[name] = {
            "parameters": report["parameters"],
            "kinds": report["kinds"],
            "faults": report["faults"],
        }
    for refused in module.faults:
        reports[str(refused.name)] = {"faults": [each.message for each in refused.faults]}
    return reports


def outcome(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the handler receives, as `{argument: [kind, text]}`, or why it is not called."""
    module = LOADED[tool]
    converter = module.converter(tool, module.tools[tool].handler)
    try:
        values = dict(arguments) if converter is None else converter.convert(arguments)
    except ArgumentsError as refused:
        return {"refused": str(refused)}
    return {"received": {name: list(received(value)) for name, value in values.items()}}


def received(value: Any, *, is_in_model: bool = False) -> tuple[str, str | None]:
    """The kind of a value and its text, written down a second time. A value that is no text has none."""
    match value:
        case enum.Enum():
            return received(value.value)
        case pydantic.RootModel():
            return received(value.root, is_in_model=True)
        case pydantic.SecretStr() | pydantic.SecretBytes():
            return received(value.get_secret_value(), is_in_model=is_in_model)
        case str():
            return "text", value
        case bytes():
            # A model reads bytes as UTF-8, as pydantic does by default.
            return "text", value.decode() if is_in_model else base64.b64encode(value).decode()
        case pathlib.PureWindowsPath():
            return "value", None
        case pathlib.PurePath():
            path = posixpath.normpath(str(value))
            return "path", path[1:] if path.startswith("//") else path
        case pydantic_core.Url() | pydantic.AnyUrl():
            return "url", str(value)
        case uuid.UUID():
            return "uuid", str(value)
        case dt.datetime():
            return "date-time", moment(value)
        case dt.date():
            return "date", value.isoformat()
        case decimal.Decimal():
            return "decimal", number(value)
    return "value", None


def moment(value: dt.datetime) -> str:
    is_aware = value.tzinfo is not None
    moved = value.astimezone(dt.UTC) if is_aware else value
    text = moved.replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") + ("Z" if is_aware else "")


def number(value: decimal.Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


main()
