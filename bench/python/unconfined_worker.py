"""The peer of the confined children in `hand_off.py`: one process for all calls, without a jail.

Each call comes over a new connection.
"""

import json
import socket
import sys
from importlib import import_module

MESSAGE_BYTES_MAX = 1 << 16


def main(folder: str, path: str) -> None:
    """Serves until it is killed."""
    sys.path.insert(0, folder)
    handlers = {spec["name"]: spec["handler"] for spec in import_module("echo_json").TOOL_SPECS}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        while True:
            _answer(listener.accept()[0], handlers)


def _answer(connection: socket.socket, handlers: dict[str, object]) -> None:
    with connection:
        call = json.loads(connection.recv(MESSAGE_BYTES_MAX))
        handler = handlers[call["tool"]]
        assert callable(handler)
        connection.sendall(json.dumps(handler(**call["arguments"])).encode())


main(*sys.argv[1:])
