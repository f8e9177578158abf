"""The runner's four routes, behind the secret of this start."""

import hmac
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolrack_runner.http.check import check
from toolrack_runner.http.health import health
from toolrack_runner.http.http_error import HttpError, answer_error
from toolrack_runner.http.invoke import forget, invoke


def make_app(
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]], secret: str | None
) -> "Authentication":
    """The app. `lifespan` sets `app.state.runner`; without a secret every request is trusted."""
    errors = dict.fromkeys((HttpError, HTTPException, Exception), answer_error)
    app = Starlette(
        routes=[
            Route("/invoke", invoke, methods=["POST"]),
            Route("/check", check, methods=["POST"]),
            Route("/forget", forget, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers=errors,
    )
    return Authentication(app, secret)


class Authentication:
    """Lets requests through that bear the secret, and `/health` in its public form, before anything else is looked at.

    Without a secret the platform has authenticated the caller (Cloud Run with IAM).
    """

    def __init__(self, app: Starlette, secret: str | None) -> None:
        self.app = app
        self._expected = None if secret is None else f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] == "http":
            scope["is_trusted"] = self._expected is None or hmac.compare_digest(_token(scope), self._expected)
            if not scope["is_trusted"] and scope["path"] != "/health":
                sentence = "the secret of this runner is needed: send it as Authorization: Bearer"
                await HttpError("TOKEN_INVALID", sentence).response()(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _token(scope: Scope) -> bytes:
    token: bytes = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return token
