"""Makes the outcome of a call from the child's answer, or from how it ended, and from what the server process observed."""

import time
from dataclasses import dataclass
from typing import Literal

from toolrack_runner.limits import RESULT_DEPTH_MAX
from toolrack_runner.server.pool.ending import End
from toolrack_runner.server.pool.holding import Holding
from toolrack_runner.server.pool.made_content import ContentTooLargeError
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.wire.child_messages import Answer, CallFailure, FailureKind, ProtocolError, TextResult
from toolrack_runner.wire.json_depth import VALUES_MAX, TooDeepError, is_too_heavy, read_json


@dataclass(frozen=True, slots=True)
class Observed:
    """What a child has printed and used. Processor time and memory come from the kernel, not from the child."""

    log: str = ""
    log_is_truncated: bool = False
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    resident_bytes_max: int = 0
    #: How many calls the process had served before.
    served: int = 0
    #: The processor time that the server process has used for this child. The answers of the routes do not contain it.
    server_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call: a text, JSON, or an error code with a sentence."""

    text: str | None = None
    #: The result as JSON, which the server process has checked.
    value: bytes | None = None
    #: The images and files of the result as a JSON array. None if there are none.
    content: bytes | None = None
    code: str | None = None
    error: str | None = None
    observed: Observed = Observed()
    #: The kind of the exception that the tool has raised, as the child says it.
    kind: FailureKind | None = None


def observe(worker: Worker, holding: Holding, *, started: float, cpu_before: float) -> Observed:
    """Collects the output and the cost of a child's work.

    `started` is the time at which the work began. Until then the child had used `cpu_before` seconds of processor time.
    """
    gone = worker.gone.result() if worker.gone.done() else None
    # A child that has served other calls has used only a part of its processor time for this one.
    before = cpu_before if worker.served or gone is None else 0.0
    cpu_seconds = worker.cpu_seconds() if gone is None else gone.cpu_seconds
    most = holding.resident_bytes_max if gone is None else gone.resident_bytes_max
    if most <= worker.resident_bytes_before:
        # An earlier call had as much. Of this one only the present amount is known.
        most = holding.resident_bytes
    return Observed(
        log=worker.output.text(),
        log_is_truncated=worker.output.is_truncated,
        wall_ms=(time.monotonic() - started) * 1000,
        cpu_ms=max(cpu_seconds - before, 0.0) * 1000,
        resident_bytes_max=most,
        served=worker.served,
        server_seconds=worker.channel.server_seconds,
    )


def read_answer(answer: Answer, *, tool: str, output_bytes_max: int) -> CallOutcome:
    """The outcome of a call with this answer. It is a failure if the result is too large, too deep, or not JSON."""
    if isinstance(answer, CallFailure):
        return CallOutcome(code=answer.code, error=answer.error, kind=answer.kind)
    result = answer.text if isinstance(answer, TextResult) else answer.json
    data = result.encode("utf-8", "replace")
    if len(data) > output_bytes_max:
        return too_large(tool, len(data), output_bytes_max)
    if isinstance(answer, TextResult):
        return CallOutcome(text=data.decode())
    if is_too_heavy(data):
        return CallOutcome(
            code="RESULT_TOO_LARGE",
            error=f"{tool}: the result holds more than the {VALUES_MAX:,} values it may have. "
            "Return less, or a part of it and a way to ask for the next",
        )
    try:
        read_json(data, RESULT_DEPTH_MAX)
    except TooDeepError:
        return CallOutcome(
            code="RESULT_INVALID",
            error=f"{tool}: the result is nested deeper than the {RESULT_DEPTH_MAX} levels it may have. Flatten it",
        )
    except ValueError:
        return no_result(tool, ProtocolError("the result is not JSON"))
    return CallOutcome(value=data)


def no_result(tool: str, broken: ProtocolError) -> CallOutcome:
    """The outcome of a call whose child broke the protocol: the tool wrote to the channel."""
    return CallOutcome(
        code="RESULT_INVALID",
        error=f"{tool}: what came back over the channel is not a result ({broken}). A tool answers by returning; "
        "it must not write to descriptors that it did not open",
    )


def too_large(tool: str, size: int | Literal["more"], output_bytes_max: int) -> CallOutcome:
    """The outcome of a call with a result above its limit.

    `size` is `more` if the server process did not read the whole result.
    """
    return CallOutcome(
        code="RESULT_TOO_LARGE",
        error=f"The result of {tool} has {size} bytes, and {output_bytes_max} are allowed; ask for less.",
    )


def too_much_content(tool: str, much: ContentTooLargeError) -> CallOutcome:
    """The outcome of a call with more images and files than a result may have."""
    return CallOutcome(
        code="RESULT_TOO_LARGE",
        error=f"The result of {tool} has {much}; ask for less.",
    )


def explain_end(end: End, tool: str) -> CallOutcome:
    """The outcome of a call whose child ended without an answer."""
    sentences = {
        "TOOL_CRASHED": f"{tool} ended its process ({end.how}) instead of returning a result",
        "RESULT_INVALID": f"{tool} gave no result: {end.how}. A tool answers by returning from its handler",
        "CPU_LIMIT": f"{tool} was ended: {end.how}, as much as a call may. Do less in one call",
        "WORKER_DIED": f"the worker was lost: {end.how}. Whether {tool} was done is not known",
    }
    return CallOutcome(code=end.code, error=sentences[end.code])
