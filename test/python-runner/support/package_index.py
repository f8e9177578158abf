"""An index of packages on this machine, which speaks the simple repository API (PEP 503 and 691)."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.wheels import Wheel

_TYPE = "application/vnd.pypi.simple.v1+json"


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A caller that is killed closes its connections."""


class PackageIndex:
    """Serves wheels, and counts who asks. With `is_html` it is an index of the older kind, which tells no sizes."""

    def __init__(self, *wheels: Wheel, is_html: bool = False, password: str | None = None) -> None:
        self.wheels = list(wheels)
        self.is_html = is_html
        self.password = password
        #: The names of the files whose release is withdrawn.
        self.yanked: set[str] = set()
        #: Bytes that are served in place of those that the index lists.
        self.replaced: dict[str, bytes] = {}
        #: The names of files that are listed, but not served.
        self.missing: set[str] = set()
        #: The paths of all requests.
        self.requests: list[str] = []
        self.connections = 0
        #: If it is set, downloads wait for it.
        self.gate: threading.Event | None = None
        #: Set when a download has begun.
        self.downloading = threading.Event()
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        secret = f"operator:{self.password}@" if self.password else ""
        return f"http://{secret}127.0.0.1:{self._server.server_port}/simple/"

    @property
    def downloads(self) -> list[str]:
        """The files that were downloaded."""
        return [path.rpartition("/")[2] for path in self.requests if path.endswith(".whl")]

    @contextmanager
    def serving(self) -> Iterator["PackageIndex"]:
        """Serves during the `with` block."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()

    def stop(self) -> None:
        """From now on, nothing listens at the address."""
        if self._server is not None:
            if self.gate is not None:
                self.gate.set()
            self._server.shutdown()
            self._server.server_close()

    def _page(self, name: str) -> tuple[str, bytes] | None:
        found = [each for each in self.wheels if re.sub(r"[-_.]+", "-", each.name).lower() == name]
        if not found:
            return None
        if self.is_html:
            withdrawn = {each.file: ' data-yanked="broken"' for each in found if each.file in self.yanked}
            links = "".join(
                f'<a href="../../files/{each.file}#sha256={each.sha256}"{withdrawn.get(each.file, "")}>{each.file}</a>'
                for each in found
            )
            return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        files = [
            {
                "filename": each.file,
                "url": f"../../files/{each.file}",
                "hashes": {"sha256": each.sha256},
                "size": len(each.content),
                "yanked": "it is broken" if each.file in self.yanked else False,
            }
            for each in found
        ]
        return _TYPE, json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()

    def _handler(index: "PackageIndex") -> type[http.server.BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes. The second one must not wait for the acknowledgement of the first one.
            disable_nagle_algorithm = True

            def setup(self) -> None:
                index.connections += 1
                super().setup()

            def do_GET(self) -> None:
                index.requests.append(self.path)
                if index.password is not None and "Authorization" not in self.headers:
                    self._answer(401, "text/plain", b"")
                    return
                folder, _, name = self.path.strip("/").partition("/")
                if folder == "simple":
                    page = index._page(name)
                    self._answer(200, *page) if page else self._answer(404, "text/plain", b"")
                    return
                served = next(
                    (each for each in index.wheels if each.file == name and name not in index.missing), None
                )
                if served is None:
                    self._answer(404, "text/plain", b"")
                    return
                index.downloading.set()
                if index.gate is not None:
                    index.gate.wait(60)
                content = index.replaced.get(name, served.content)
                self._answer(200, "application/octet-stream", content)

            do_HEAD = do_GET  # noqa: N815 - the name is that of the base class

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                begin, end = 0, len(body)
                wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
                if status == 200 and wanted and body:
                    status = 206
                    begin = int(wanted[1]) if wanted[1] else end - int(wanted[2])
                    end = min(int(wanted[2]) + 1, end) if wanted[1] and wanted[2] else end
                self.send_response(status)
                if status == 206:
                    self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(body)}")
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="index"')
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(end - begin))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body[begin:end])

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        return Handler
