"""The peer of a warm call: the official MCP SDK. It runs the handler in its own process, without a jail.

Each request is a call by itself, without a session, and gets JSON. This is the SDK's fastest way. Prints one JSON line with
its address when it listens, and ends when its standard input ends, as the runner does.
"""

import json
import os
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer  # type: ignore[import-not-found]
from mcp.server.transport_security import (  # type: ignore[import-not-found]
    TransportSecuritySettings,
)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serves until it is killed."""
    server = MCPServer("peer", log_level="WARNING")
    sys.path.insert(0, str(Path(__file__).parent / "tools"))
    server.add_tool(import_module("echo_json").echo)
    # The benchmark's client names no port in its header Host, and the check of this header would refuse that.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(json_response=True, stateless_http=True, transport_security=security)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(json.dumps({"listening": f"http://127.0.0.1:{listener.getsockname()[1]}"}) + "\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])


main()
