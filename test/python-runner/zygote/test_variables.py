"""The variables of the runner that are for uv reach neither zygotes nor tools. A proxy's address may hold a password."""

from pathlib import Path

from support.live_runner import live_runner
from toolrack_runner.server.pool.spawn_zygote import ENVIRONMENT

PROXY = "http://operator:s3cret@127.0.0.1:9"
OF_THE_RUNNER = {
    **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"), PROXY),
    "NO_PROXY": "s3cret.example",
    "no_proxy": "s3cret.example",
    "SSL_CERT_FILE": "/nowhere/s3cret.pem",
    "SSL_CERT_DIR": "/nowhere/s3cret",
}
SOURCE = """
import os, urllib.request
def run() -> dict:
    return {"variables": dict(os.environ), "proxies": urllib.request.getproxies()}
TOOL_SPECS = [{"name": "sees:run", "description": "Runs.", "handler": run}]
"""


def test_no_zygote_and_no_tool_has_the_proxies_and_certificates_of_the_runner() -> None:
    with live_runner(environment=OF_THE_RUNNER) as live:
        seen = live.invoke(SOURCE, "sees:run")["value"]
        zygotes = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split()
        environments = [Path(f"/proc/{pid}/environ").read_text() for pid in zygotes]
    assert set(seen["variables"]) <= {*ENVIRONMENT, "HOME", "TMPDIR", "XDG_CACHE_HOME", "LC_CTYPE"}
    assert seen["proxies"] == {}
    assert "s3cret" not in f"{seen}"
    assert environments
    assert not [each for each in environments if "s3cret" in each]
