"""Parses the body of `/invoke`."""

from typing import NamedTuple

from starlette.requests import Request

from toolrack_runner.http.body import Body, read_body
from toolrack_runner.http.http_error import HttpError
from toolrack_runner.limits import HOSTS_MAX
from toolrack_runner.network.hosts import Host, is_address, read_host, why_no_address
from toolrack_runner.pool.call import Call
from toolrack_runner.pool.warm_queue import Key
from toolrack_runner.settings import LEVELS
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.zygote.messages import Limits

DEADLINE_MS = 30_000
DEADLINE_MS_MAX = 3_600_000
NO_HOSTS = "network must name hosts, as api.example.com or api.example.com:8443"
_DEFAULTS = Limits()


class InvokeBody(NamedTuple):
    """A parsed request for one call."""

    call: Call
    source: str | None
    min_isolation: str | None
    #: Why the tool's spec cannot be used; None if it can. Earlier versions stored specs that are not accepted now.
    spec_fault: str | None


async def read_invoke_body(request: Request) -> InvokeBody:
    """Parses the body of the request; raises HttpError."""
    body = await read_body(
        request,
        *("module", "sha256", "tool", "source", "arguments", "context", "deadlineMs"),
        *("limits", "network", "tenant", "invocationId"),
    )
    sha256 = body.digest("sha256")
    limits, min_isolation = _limits(body.an_object("limits", default={}))
    hosts = _hosts(body.get("network", []))
    spec_fault = next((why_no_address(at) for at, host in enumerate(hosts) if is_address(host)), None)
    call = Call(
        key=Key(
            tenant=body.text("tenant", characters_max=256),
            module=body.text("module", characters_max=128),
            sha256=sha256,
            limits=limits,
            network=() if spec_fault else _parsed(hosts),
        ),
        tool=body.text("tool", characters_max=128),
        arguments=body.an_object("arguments"),
        context=body.an_object("context", default={}),
        deadline_seconds=body.whole_number(
            "deadlineMs", lowest=1, highest=DEADLINE_MS_MAX, default=DEADLINE_MS
        )
        / 1000,
        invocation_id=body.text("invocationId", characters_max=128),
    )
    return InvokeBody(call, body.optional_text("source"), min_isolation, spec_fault)


def _hosts(value: JsonValue) -> list[str]:
    if not isinstance(value, list) or len(value) > HOSTS_MAX:
        raise HttpError("BODY_INVALID", f"network must be a list of at most {HOSTS_MAX} hosts")
    hosts = [text for text in value if isinstance(text, str)]
    if len(hosts) != len(value):
        raise HttpError("BODY_INVALID", NO_HOSTS)
    return hosts


def _parsed(texts: list[str]) -> tuple[Host, ...]:
    hosts = tuple(host for text in texts if (host := read_host(text)) is not None)
    if len(hosts) != len(texts):
        raise HttpError("BODY_INVALID", NO_HOSTS)
    return hosts


def _limits(given: JsonObject) -> tuple[Limits, str | None]:
    """The limits, and the lowest level of isolation."""
    if not given:
        return _DEFAULTS, None
    names = ("memoryBytes", "cpuSeconds", "outputBytes", "fileBytes", "minIsolation")
    body = Body(given, *names, where="limits: ")
    level = body.optional_text("minIsolation")
    if level is not None and level not in LEVELS:
        raise HttpError("BODY_INVALID", f"limits.minIsolation must be one of {', '.join(LEVELS)}")

    def number(name: str, lowest: int, highest: int, default: int) -> int:
        return body.whole_number(name, lowest=lowest, highest=highest, default=default)

    limits = Limits(
        memory_bytes=number("memoryBytes", 1 << 20, 4 << 30, _DEFAULTS.memory_bytes),
        cpu_seconds=number("cpuSeconds", 1, 3600, _DEFAULTS.cpu_seconds),
        output_bytes=number("outputBytes", 1, _DEFAULTS.output_bytes, _DEFAULTS.output_bytes),
        file_bytes=number("fileBytes", 0, 1 << 30, _DEFAULTS.file_bytes),
    )
    return limits, level
