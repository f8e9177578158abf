"""`POST /invoke` runs one call. `POST /forget` ends the children that wait for a module's calls."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolrack_runner.server.http.body import CALL_BYTES_MAX, read_body, read_bytes
from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.server.http.http_events import NDJSON, HttpEvents
from toolrack_runner.server.http.invoke import invoke
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.http.unless_gone import unless_gone


class InvokeRoute:
    """The route as an ASGI app, because events are sent before the outcome of a call is known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        runner: Runner = request.app.state.runner
        data = await read_bytes(request, CALL_BYTES_MAX)
        events = HttpEvents(send)
        wants_events = NDJSON in request.headers.get("accept", "")
        try:
            async with unless_gone(request):
                answer = await invoke(runner, data, events.stream if wants_events else None)
        except HttpError as gone:
            events.stream.stop()
            answer = gone.answer()
        await events.answer(answer, scope, receive)


async def forget(request: Request) -> Response:
    """Ends waiting children. Answers 204, even if none has waited. Running calls go on, and later calls work as usual."""
    runner: Runner = request.app.state.runner
    body = await read_body(request, "tenant", "module", "sha256")
    module, sha256 = body.text("module", characters_max=128), body.digest("sha256")
    tenant = body.tenant()
    if runner.pool is not None:
        runner.pool.forget(module, sha256, tenant)
    return Response(status_code=204)
