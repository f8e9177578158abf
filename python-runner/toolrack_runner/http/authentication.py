"""The secret of this start, asked for before anything else of a request is looked at."""

import hmac

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from toolrack_runner.http.fault import Fault
from toolrack_runner.http.send_error import answer_fault


class Authentication:
    """Lets requests through that bear the secret, and `/health` in its public form.

    Without a secret the platform has authenticated the caller (Cloud Run with IAM).
    """

    def __init__(self, app: Starlette, secret: str | None) -> None:
        self.app = app
        self._expected = None if secret is None else f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["is_trusted"] = self._expected is None or hmac.compare_digest(_token(scope), self._expected)
        if scope["is_trusted"] or scope["path"] == "/health":
            await self.app(scope, receive, send)
            return
        fault = Fault(
            "TOKEN_INVALID", "the secret of this runner is needed: send it as Authorization: Bearer"
        )
        await answer_fault(fault)(scope, receive, send)


def _token(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            token: bytes = value
            return token
    return b""
