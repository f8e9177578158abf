"""The body of `/invoke`, parsed once."""

from dataclasses import dataclass
from typing import Any

from toolrack_runner.http.fault import Fault
from toolrack_runner.http.fields import an_object, digest, optional_text, refuse_unknown, text, whole_number
from toolrack_runner.network.hosts import Host, is_address, read_host, why_no_address
from toolrack_runner.settings import LEVELS
from toolrack_runner.zygote.messages import Limits

FIELDS = frozenset(
    {
        "module",
        "sha256",
        "tool",
        "arguments",
        "context",
        "deadlineMs",
        "limits",
        "tenant",
        "invocationId",
        "source",
        "network",
    }
)
LIMITS = frozenset({"memoryBytes", "cpuSeconds", "outputBytes", "fileBytes", "minIsolation"})
DEADLINE_MS = 30_000
HOSTS_MAX = 20
NO_HOSTS = "network must name hosts, as api.example.com or api.example.com:8443"
DEADLINE_MS_MAX = 3_600_000
_DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call as the service asks for it."""

    module: str
    sha256: str
    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any]
    deadline_seconds: float
    limits: Limits
    min_isolation: str | None
    tenant: str
    invocation_id: str
    source: str | None
    #: The hosts that the tool's spec names; none, and it has no network.
    network: tuple[Host, ...]
    #: Why the tool's spec can't be used; then nothing is to be run. Earlier versions stored specs that are refused now.
    spec_fault: str | None


def parse_invocation(body: dict[str, Any]) -> Invocation:
    """Raises Fault."""
    refuse_unknown(body, FIELDS)
    sha256 = digest(body, "sha256")
    limits, min_isolation = _limits(an_object(body, "limits", default={}))
    hosts = _hosts(body.get("network", []))
    spec_fault = next((why_no_address(at) for at, host in enumerate(hosts) if is_address(host)), None)
    return Invocation(
        module=text(body, "module", characters_max=128),
        sha256=sha256,
        tool=text(body, "tool", characters_max=128),
        arguments=an_object(body, "arguments"),
        context=an_object(body, "context", default={}),
        deadline_seconds=whole_number(
            body, "deadlineMs", lowest=1, highest=DEADLINE_MS_MAX, default=DEADLINE_MS
        )
        / 1000,
        limits=limits,
        min_isolation=min_isolation,
        tenant=text(body, "tenant", characters_max=256),
        invocation_id=text(body, "invocationId", characters_max=128),
        source=optional_text(body, "source"),
        network=() if spec_fault else _parsed(hosts),
        spec_fault=spec_fault,
    )


def _hosts(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > HOSTS_MAX:
        raise Fault("BODY_INVALID", f"network must be a list of at most {HOSTS_MAX} hosts")
    if not all(isinstance(text, str) for text in value):
        raise Fault("BODY_INVALID", NO_HOSTS)
    return value


def _parsed(texts: list[str]) -> tuple[Host, ...]:
    hosts = tuple(host for text in texts if (host := read_host(text)) is not None)
    if len(hosts) != len(texts):
        raise Fault("BODY_INVALID", NO_HOSTS)
    return hosts


def _limits(limits: dict[str, Any]) -> tuple[Limits, str | None]:
    if not limits:
        return _DEFAULTS, None
    refuse_unknown(limits, LIMITS, where="limits: ")
    level = optional_text(limits, "minIsolation")
    if level is not None and level not in LEVELS:
        raise Fault("BODY_INVALID", f"limits.minIsolation must be one of {', '.join(LEVELS)}")
    return (
        Limits(
            memory_bytes=whole_number(
                limits, "memoryBytes", lowest=1 << 20, highest=4 << 30, default=_DEFAULTS.memory_bytes
            ),
            cpu_seconds=whole_number(
                limits, "cpuSeconds", lowest=1, highest=3600, default=_DEFAULTS.cpu_seconds
            ),
            output_bytes=whole_number(
                limits,
                "outputBytes",
                lowest=1,
                highest=_DEFAULTS.output_bytes,
                default=_DEFAULTS.output_bytes,
            ),
            file_bytes=whole_number(
                limits, "fileBytes", lowest=0, highest=1 << 30, default=_DEFAULTS.file_bytes
            ),
        ),
        level,
    )
