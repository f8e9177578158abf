"""Of which kind an exception is, as the class says it."""

import pytest

from child.module.tools import called

#: Classes as packages define them, which are not installed here.
PACKAGES = """
import urllib.error
from urllib.error import HTTPError, URLError
import socket

def made(module, name, *bases):
    return type(name, bases or (Exception,), {"__module__": module})

Requests = made("requests.exceptions", "ConnectionError", OSError)
RequestsTimeout = made("requests.exceptions", "Timeout", OSError)
ConnectTimeout = made("requests.exceptions", "ConnectTimeout", Requests, RequestsTimeout)
Httpx = made("httpx", "ConnectError", made("httpx", "NetworkError"))
HttpxTimeout = made("httpx", "ReadTimeout", made("httpx", "TimeoutException"))
Aiohttp = made("aiohttp.client_exceptions", "ClientConnectorError",
               made("aiohttp.client_exceptions", "ClientConnectionError"))
Denied = type("Denied", (ConnectionRefusedError, PermissionError), {})
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise TimeoutError", "timeout"),
        ("raise socket.timeout", "timeout"),
        ("raise URLError(TimeoutError())", "timeout"),
        ("raise RequestsTimeout", "timeout"),
        ("raise ConnectTimeout", "timeout"),
        ("raise HttpxTimeout", "timeout"),
        ("raise PermissionError(13, 'no')", "permission"),
        ("raise type('Own', (PermissionError,), {})", "permission"),
        ("raise URLError(PermissionError(1, 'no'))", "permission"),
        ("raise Denied(111, 'no')", "permission"),
        ("raise Httpx('no') from Denied(111, 'no')", "permission"),
        ("raise ConnectionResetError", "network"),
        ("raise socket.gaierror(-2, 'unknown')", "network"),
        ("raise URLError('no route')", "network"),
        ("raise URLError(ConnectionRefusedError())", "network"),
        ("raise Requests", "network"),
        ("raise Httpx", "network"),
        ("raise Aiohttp", "network"),
        ("raise HTTPError('u', 404, 'none', {}, None)", None),
        ("raise ValueError('ConnectionError: TimeoutError')", None),
        ("raise OSError(5, 'no')", None),
        ("raise KeyError('x') from ConnectionResetError()", None),
        ("raise type('Liar', (Exception,), {'__class__': TimeoutError})", None),
    ],
)
def test_the_class_of_an_exception_says_its_kind(body: str, kind: str | None) -> None:
    outcome = called(f"{PACKAGES}\ndef run():\n    {body}")
    assert outcome["code"] == "TOOL_RAISED"
    assert outcome.get("kind") == kind


@pytest.mark.parametrize("body", ["raise MemoryError", "import sys; sys.exit(3)", "return object()"])
def test_only_what_a_tool_has_raised_has_a_kind(body: str) -> None:
    assert "kind" not in called(f"def run():\n    {body}")


def test_reading_the_kind_runs_no_code_of_the_module() -> None:
    sly = """
from urllib.error import URLError

class Meta(type):
    def __getattribute__(cls, name): raise SystemExit
    def __subclasscheck__(cls, other): raise SystemExit

class Sly(URLError):
    @property
    def reason(self): raise SystemExit
    def __getattribute__(self, name): raise SystemExit
    def __init__(self): pass
"""
    outcome = called(f"{sly}\ndef run():\n    raise Sly")
    assert (outcome["code"], outcome["kind"]) == ("TOOL_RAISED", "network")
