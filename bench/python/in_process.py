"""The smallest possible cost of a call: this process calls the handler as a function, and parses and writes the same JSON.

Reads `{"calls", "pauseMs", "folder", "tool", "arguments"}` from standard input and prints the times in microseconds.
"""

import json
import sys
import time
from importlib import import_module


def main() -> None:
    """Times the calls, with a pause before each."""
    order = json.load(sys.stdin)
    tool: str = order["tool"]
    sys.path.insert(0, order["folder"])
    specs = import_module(tool.partition(":")[0]).TOOL_SPECS
    handler = next(spec["handler"] for spec in specs if spec["name"] == tool)
    body = json.dumps(order["arguments"])
    times = []
    for _ in range(order["calls"]):
        time.sleep(order["pauseMs"] / 1000)
        started = time.perf_counter()
        answer = json.dumps(handler(**json.loads(body)))
        times.append((time.perf_counter() - started) * 1e6)
        assert answer == body
    sys.stdout.write(json.dumps(times))


main()
