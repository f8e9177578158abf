"""`POST /forget`: a module was deleted or replaced, so nothing waits for calls of it any more."""

from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.fields import digest, optional_text, refuse_unknown, text
from toolrack_runner.http.read_body import read_body
from toolrack_runner.http.runner import Runner

FIELDS = frozenset({"tenant", "module", "sha256"})


async def forget(request: Request) -> Response:
    """Answers 204, also where nothing waited. Calls under way go on, and a call that comes later is run as any other."""
    runner: Runner = request.app.state.runner
    body = await read_body(request)
    refuse_unknown(body, FIELDS)
    module, sha256 = text(body, "module", characters_max=128), digest(body, "sha256")
    tenant = None if optional_text(body, "tenant") is None else text(body, "tenant", characters_max=256)
    if runner.pool is not None:
        runner.pool.forget(module, sha256, tenant)
    return Response(status_code=204)
