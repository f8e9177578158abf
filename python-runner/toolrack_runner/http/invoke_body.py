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


class InvokeBody(NamedTuple):
    """The fields of the body."""

    call: Call
    source: str | None
    min_isolation: str | None
    #: Why the tool's spec cannot be used; None if it can. Earlier versions stored specs that are not accepted now.
    spec_fault: str | None


async def read_invoke_body(request: Request) -> InvokeBody:
    """The body of the request; raises HttpError."""
    body = await read_body(
        request,
        *("module", "sha256", "tool", "source", "arguments", "context", "deadlineMs"),
        *("limits", "network", "tenant", "invocationId"),
    )
    sha256 = body.digest("sha256")
    limits, min_isolation = _limits(body.an_object("limits", default={}))
    hosts, spec_fault = _network(body.get("network", []))
    call = Call(
        key=Key(
            tenant=body.text("tenant", characters_max=256),
            module=body.text("module", characters_max=128),
            sha256=sha256,
            limits=limits,
            network=hosts,
        ),
        tool=body.text("tool", characters_max=128),
        arguments=body.an_object("arguments"),
        context=body.an_object("context", default={}),
        deadline_seconds=body.whole_number("deadlineMs", 1, DEADLINE_MS_MAX, default=DEADLINE_MS) / 1000,
        invocation_id=body.text("invocationId", characters_max=128),
    )
    return InvokeBody(call, body.optional_text("source"), min_isolation, spec_fault)


def _network(value: JsonValue) -> tuple[tuple[Host, ...], str | None]:
    """The hosts, or none and the `spec_fault`."""
    if not isinstance(value, list) or len(value) > HOSTS_MAX:
        raise HttpError("BODY_INVALID", f"network must be a list of at most {HOSTS_MAX} hosts")
    texts = [text for text in value if isinstance(text, str)]
    spec_fault = next((why_no_address(at) for at, text in enumerate(texts) if is_address(text)), None)
    hosts = tuple(host for text in texts if (host := read_host(text)) is not None)
    if len(texts) < len(value) or (spec_fault is None and len(hosts) < len(value)):
        sentence = "network must name hosts, as api.example.com or api.example.com:8443"
        raise HttpError("BODY_INVALID", sentence)
    return (hosts if spec_fault is None else ()), spec_fault


def _limits(given: JsonObject) -> tuple[Limits, str | None]:
    """The limits, and the lowest level of isolation."""
    names = ("memoryBytes", "cpuSeconds", "outputBytes", "fileBytes", "minIsolation")
    body = Body(given, *names, where="limits: ")
    level = body.optional_text("minIsolation")
    if level is not None and level not in LEVELS:
        raise HttpError("BODY_INVALID", f"limits.minIsolation must be one of {', '.join(LEVELS)}")
    usual = Limits()
    limits = Limits(
        memory_bytes=body.whole_number("memoryBytes", 1 << 20, 4 << 30, default=usual.memory_bytes),
        cpu_seconds=body.whole_number("cpuSeconds", 1, 3600, default=usual.cpu_seconds),
        output_bytes=body.whole_number("outputBytes", 1, usual.output_bytes, default=usual.output_bytes),
        file_bytes=body.whole_number("fileBytes", 0, 1 << 30, default=usual.file_bytes),
    )
    return limits, level
