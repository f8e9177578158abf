"""Wheels that tests make: small archives with any files."""

import base64
import hashlib
import io
import sys
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

#: The tag of a wheel for every platform, and that of one for another system than any that runs the tests.
ANYWHERE = "py3-none-any"
ELSEWHERE = "cp311-cp311-win32"
HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"


class Wheel(NamedTuple):
    """A wheel, or another file of a release."""

    name: str
    version: str
    file: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def wheel(
    name: str,
    version: str = "1.0",
    files: Mapping[str, str | bytes] | None = None,
    *,
    requires: tuple[str, ...] = (),
    tag: str = ANYWHERE,
    record: Mapping[str, str] | None = None,
    modes: Mapping[str, int] | None = None,
) -> Wheel:
    """A wheel with these files, by default a package that knows its version. The same arguments make the same bytes.

    `record` replaces the hashes of files in RECORD, and `modes` the modes of files, such as that of a link.
    """
    top = name.lower().replace("-", "_").replace(".", "_")
    info = f"{top}-{version}.dist-info"
    texts = {f"{top}/__init__.py": f"VERSION = {version!r}\n"} if files is None else dict(files)
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    texts |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    hashes = {path: _hash_in_record(content) for path, content in contents.items()} | dict(record or {})
    lines = [f"{path},{hashes[path]},{len(content)}" for path, content in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writing:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (modes or {}).get(path, 0o100644) << 16
            writing.writestr(entry, content)
    return Wheel(name, version, f"{top}-{version}-{tag}.whl", archive.getvalue())


def source_release(name: str, version: str = "1.0") -> Wheel:
    """A release that has only source, which would have to be built."""
    return Wheel(name, version, f"{name}-{version}.tar.gz", b"not a real archive")


def _hash_in_record(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"
