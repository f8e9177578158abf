"""`POST /check`: what a module holds, found out without running it, then by importing it in the jail."""

from starlette.requests import Request
from starlette.responses import Response


async def check(request: Request) -> Response:
    raise NotImplementedError
