"""Reads the source of a module from a body: one file, or several files by their paths."""

import base64
import hashlib
import re
from contextlib import suppress

from toolrack_runner.server.http.body import Body
from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.wire.child_messages import SourceText
from toolrack_runner.wire.frames import JsonObject

#: The fields of a check. Exactly one of them is sent.
SOURCE_FIELDS = ("source", "sourceBase64", "files", "filesBase64")
_LISTED = r'\{"path":"[\w./-]+","sha256":"[0-9a-f]{64}"\}'
#: Matches JSON that looks like the text from whose sha256 the digest of several files is made (`digest_of`).
_FILE_LIST = re.compile(rf"\[{_LISTED}(?:,{_LISTED})*\]", re.ASCII)


def checked_source(body: Body) -> bytes | dict[str, bytes]:
    """The bytes to check. If a file is not UTF-8, the caller sends it in base64, so that the report can name this fault."""
    given = {field: value for field in SOURCE_FIELDS if (value := body.get(field)) is not None}
    if len(given) == 1:
        ((field, value),) = given.items()
        read = _from_base64 if field.endswith("Base64") else _utf8
        with suppress(ValueError):
            if field.startswith("source") and isinstance(value, str):
                return read(value)
            if field.startswith("files") and isinstance(value, dict):
                return {path: read(text) for path, text in _texts(value).items()}
    raise HttpError(
        "BODY_INVALID",
        "the body must have one of source, a string; sourceBase64, the file in base64; files, an object of paths and "
        "strings; or filesBase64, an object of paths and files in base64",
    )


def source_digest(source: bytes | dict[str, bytes]) -> str:
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    from toolrack_runner.file_paths import digest_of  # Imported only here, as in `check`.

    return digest_of(source)


def called_source(body: Body, module: str, sha256: str) -> SourceText | None:
    """The source of a call, if the body has one. Its digest must be `sha256`. Raises HttpError."""
    source, files = body.optional_text("source"), body.get("files")
    if files is None:
        return None if source is None else _one_file(source, sha256)
    if source is not None or not isinstance(files, dict):
        raise _invalid("the body may have source, a string, or files, an object of paths and strings")
    from toolrack_runner.file_paths import digest_of, files_fault  # Imported only here, as in `check`.

    texts = _texts(files)
    contents = {path: _utf8(text) for path, text in texts.items()}
    fault = files_fault(module, {path: len(content) for path, content in contents.items()})
    if fault is not None:
        raise _invalid(f"files: {fault.message}")
    if digest_of(contents) != sha256:
        raise _invalid("sha256 is not the digest of files")
    return texts


def _one_file(source: str, sha256: str) -> str:
    if hashlib.sha256(_utf8(source)).hexdigest() != sha256:
        raise _invalid("sha256 is not the digest of source")
    # The sha256 of this text is also the digest of the files that it lists. If it were stored as a source, another user's
    # call of these files would get the list in place of the files.
    if _FILE_LIST.fullmatch(source):
        raise _invalid("source is a list of files, which is no module")
    return source


def _texts(files: JsonObject) -> dict[str, str]:
    texts = {path: text for path, text in files.items() if isinstance(text, str)}
    if len(texts) < len(files):
        raise _invalid("each of the files must be a string")
    return texts


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _invalid(sentence: str) -> HttpError:
    return HttpError("BODY_INVALID", sentence)
