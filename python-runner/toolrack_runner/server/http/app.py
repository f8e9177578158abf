"""The four routes of the runner, which a secret protects."""

import hmac
import platform
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolrack_runner.server.http.check import Check
from toolrack_runner.server.http.http_error import HttpError, answer_error
from toolrack_runner.server.http.invoke_route import InvokeRoute, forget
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.version import VERSION

#: How many seconds `/health` waits until the level is measured. If it is still not measured, the answer says L0.
WAIT_SECONDS = 0.4


def make_app(
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]], secret: str | None
) -> "Authentication":
    """Makes the app. `lifespan` sets `app.state.runner`."""
    app = Starlette(
        routes=[
            Route("/invoke", InvokeRoute(), methods=["POST"]),
            Route("/check", Check(), methods=["POST"]),
            Route("/forget", forget, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers=dict.fromkeys((HttpError, HTTPException, Exception), answer_error),
    )
    return Authentication(app, secret)


class Authentication:
    """Rejects requests without the secret before anything else of them is read. Only a short answer of `/health` is public.

    If the runner has no secret, the platform has authenticated the caller (Cloud Run with IAM).
    """

    def __init__(self, app: Starlette, secret: str | None) -> None:
        self.app = app
        self._expected = None if secret is None else f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            scope["is_trusted"] = self._expected is None or hmac.compare_digest(token, self._expected)
            if not scope["is_trusted"] and scope["path"] != "/health":
                sentence = "the secret of this runner is needed: send it as Authorization: Bearer"
                await HttpError("TOKEN_INVALID", sentence).answer().response()(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def health(request: Request) -> Response:
    """`GET /health`. Every caller gets status, version and level. A caller with the secret gets all other fields too."""
    runner: Runner = request.app.state.runner
    level = await runner.measurement.known(WAIT_SECONDS)
    answer: dict[str, object] = {"status": "starting", "version": VERSION, "isolation": "L0"}
    if level is None:
        answer["layers"] = []
    else:
        is_ready = runner.pool is not None and runner.pool.zygotes.plain_is_ready.is_set()
        answer |= {"status": "ok" if is_ready else "degraded", "isolation": level.level}
    if level is not None and request.scope["is_trusted"]:
        answer |= {
            "minIsolation": runner.settings.min_isolation,
            "layers": level.layers,
            "attacks": level.proofs,
            "python": platform.python_version(),
            "platform": f"{sys.platform} {platform.release()} {platform.machine()}",
            "calls": runner.calls.snapshot(),
            "checks": runner.checks.snapshot(),
            "children": runner.pool.snapshot if runner.pool else {"alive": 0, "waiting": 0},
        }
    headers = {"Cache-Control": "no-store"}
    return Response(orjson.dumps(answer), media_type="application/json", headers=headers)
