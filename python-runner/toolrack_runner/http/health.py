"""`GET /health`: which level of isolation this runner has, and what proved it."""

import platform
import sys

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.runner import Runner
from toolrack_runner.version import VERSION

#: How long an answer waits for the level at most; until it is measured, the answer says that there is none.
WAIT_SECONDS = 0.4


async def health(request: Request) -> Response:
    """Everything for a caller who bears the secret; status, version and level for anybody."""
    runner: Runner = request.app.state.runner
    level = await runner.measurement.known(WAIT_SECONDS)
    answer: dict[str, object]
    if level is None:
        answer = {"status": "starting", "version": VERSION, "isolation": "L0", "layers": []}
    else:
        status = "ok" if runner.is_ready else "degraded"
        answer = {"status": status, "version": VERSION, "isolation": level.level}
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
