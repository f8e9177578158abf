"""The runner's four routes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrack_runner.http.authentication import Authentication
from toolrack_runner.http.check import check
from toolrack_runner.http.fault import Fault
from toolrack_runner.http.forget import forget
from toolrack_runner.http.health import health
from toolrack_runner.http.invoke import invoke
from toolrack_runner.http.send_error import answer_fault, answer_http, answer_unforeseen


def make_app(
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]], secret: str | None
) -> Authentication:
    """The app, behind its authentication: nothing of a request is looked at before its token.

    `lifespan` sets `app.state.runner`.
    """
    app = Starlette(
        routes=[
            Route("/invoke", invoke, methods=["POST"]),
            Route("/check", check, methods=["POST"]),
            Route("/forget", forget, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers={Fault: _fault, HTTPException: _http, Exception: _unforeseen},
    )
    return Authentication(app, secret)


async def _fault(_: Request, error: Exception) -> Response:
    assert isinstance(error, Fault)
    return answer_fault(error)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer_http(error.status_code)


async def _unforeseen(_: Request, error: Exception) -> Response:
    return answer_unforeseen(error)
