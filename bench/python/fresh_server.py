"""The peer of a runner's start: FastAPI under uvicorn, and an interpreter of its own for each call.

Prints one JSON line with its address when it listens, and ends with its standard input, as the runner does.
"""

import asyncio
import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI  # type: ignore[import-not-found]
from pydantic import BaseModel

FRESH = str(Path(__file__).parent / "fresh.py")


class Invocation(BaseModel):
    """The body of `/invoke`."""

    tool: str
    source: str
    arguments: dict[str, Any]


async def invoke(invocation: Invocation) -> dict[str, Any]:
    """Runs a tool in an interpreter of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        FRESH,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    result, _ = await process.communicate(invocation.model_dump_json().encode())
    return {"outcome": "success", "value": json.loads(result)}


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serves until it is killed."""
    app = FastAPI()
    app.add_api_route("/invoke", invoke, methods=["POST"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(json.dumps({"listening": f"http://127.0.0.1:{listener.getsockname()[1]}"}) + "\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[listener])


main()
