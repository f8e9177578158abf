"""The peer of an isolated call: a new interpreter for one call, without a jail.

Reads `{"tool", "arguments"}` and the `folder` or the `source` of the module from standard input. Writes the result to
standard output. Imports nothing that the module does not need. Python caches the compiled modules of a folder as usual.
"""

import json
import sys
from typing import Any


def main() -> None:
    """Makes one call."""
    order = json.loads(sys.stdin.buffer.read())
    name, _, _ = order["tool"].partition(":")
    specs = _specs_of_source(name, order["source"]) if "source" in order else _specs(name, order["folder"])
    handler = next(spec["handler"] for spec in specs if spec["name"] == order["tool"])
    sys.stdout.write(json.dumps(handler(**order["arguments"])))


def _specs(name: str, folder: str) -> Any:
    sys.path.insert(0, folder)
    return __import__(name).TOOL_SPECS


def _specs_of_source(name: str, source: str) -> Any:
    module = {"__name__": name}
    exec(compile(source, f"{name}.py", "exec"), module)
    return module["TOOL_SPECS"]


main()
