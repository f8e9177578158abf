"""`GET /health`: what is promised here, and what proved it."""

import platform
import sys

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.runner import Runner
from toolrack_runner.version import VERSION

#: Who asks waits so long at most; until the level is measured, it is none.
WAIT_SECONDS = 0.4


async def health(request: Request) -> Response:
    """Everything for who bears the secret; status, version and level for anybody."""
    runner: Runner = request.app.state.runner
    level = await runner.measurement.known(WAIT_SECONDS)
    if level is None:
        return _answer({"status": "starting", "version": VERSION, "isolation": "L0", "layers": []})
    answer: dict[str, object] = {
        "status": "ok" if runner.is_ready else "degraded",
        "version": VERSION,
        "isolation": level.level,
    }
    if request.scope["is_trusted"]:
        answer |= {
            "minIsolation": runner.settings.min_isolation,
            "layers": [layer.as_json() for layer in level.layers],
            "attacks": [proof.as_json() for proof in level.proofs],
            "python": platform.python_version(),
            "platform": f"{sys.platform} {platform.release()} {platform.machine()}",
            "calls": runner.calls.snapshot().as_json(),
            "checks": runner.checks.snapshot().as_json(),
            "children": {
                "alive": runner.pool.alive if runner.pool else 0,
                "waiting": runner.pool.waiting if runner.pool else 0,
            },
        }
    return _answer(answer)


def _answer(answer: dict[str, object]) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(orjson.dumps(answer), media_type="application/json", headers=headers)
