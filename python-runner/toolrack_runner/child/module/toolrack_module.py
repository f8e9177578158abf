"""The module `toolrack` that a tool imports: an image or a file that its result may contain.

The module is in `sys.modules` before any code of a tool runs. So `import toolrack` finds it even if a package has that name.
An upload cannot have this name (`source.py`).
"""

import os
import sys
from types import ModuleType
from typing import Final

from toolrack_runner.child.module.facts import type_name
from toolrack_runner.child.module.secrets_of_call import has_secret
from toolrack_runner.wire.content import NAME_CHARACTERS_MAX, is_media_type, is_name

#: The name by which a tool imports it.
NAME: Final = "toolrack"
#: The type of a file whose name does not tell it.
UNKNOWN_TYPE: Final = "application/octet-stream"
#: The types by the ends of names. The table of the standard library would read files that the jail hides.
_TYPES: Final = {
    "csv": "text/csv",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "gz": "application/gzip",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "log": "text/plain",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "svg": "image/svg+xml",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "zip": "application/zip",
}

# A module may replace these names.
_fspath, _join, _getcwd = os.fspath, os.path.join, os.getcwd


class Made:
    """What a result may contain besides JSON."""

    __slots__ = ()


class Image(Made):
    """An image in a result.

    `data` has the bytes of the image file, such as a PNG, and `type` is its media type, such as `image/png`.
    """

    __slots__ = ("data", "name", "type")

    def __init__(self, data: bytes | bytearray | memoryview, type: str, name: str | None = None) -> None:  # noqa: A002
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"toolrack.Image(data, type): data is {type_name(data)}, and must be bytes")
        self.data = bytes(data)
        self.type = _media_type("Image(data, type)", type)
        if not self.type.startswith("image/"):
            raise ValueError(
                f"toolrack.Image(data, type): {self.type} is no type of an image, such as image/png; "
                "return another file with toolrack.File"
            )
        self.name = None if name is None else _own_name("Image(data, type, name)", name)


class File(Made):
    """A file in a result. It lies in the working folder of the tool, and is read when the tool returns it.

    Without `name`, the last part of the path is its name. Without `type`, the end of the name tells the media type.
    """

    __slots__ = ("name", "path", "type")

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        name: str | None = None,
        type: str | None = None,  # noqa: A002
    ) -> None:
        given = _fspath(path)
        if not isinstance(given, str):
            raise TypeError(f"toolrack.File(path): path is {type_name(given)}, and must be a str or a Path")
        self.path = _join(_getcwd(), given)
        self.name = None if name is None else _own_name("File(path, name)", name)
        self.type = None if type is None else _media_type("File(path, type=…)", type)


def type_of_name(name: str) -> str:
    """The media type that the end of a name tells."""
    return _TYPES.get(name.rpartition(".")[2].lower(), UNKNOWN_TYPE)


def end_of_type(media_type: str) -> str:
    """The usual end of the names of such files, with its dot; empty if it is not known."""
    return next((f".{end}" for end, known in _TYPES.items() if known == media_type), "")


def without_parameters(media_type: str) -> str | None:
    """The media type in lower case and without its parameters. None if the text is no media type, or has a secret."""
    plain = media_type.partition(";")[0].strip().lower()
    return plain if is_media_type(plain) and not has_secret(media_type) else None


def _media_type(call: str, given: object) -> str:
    plain = without_parameters(given) if isinstance(given, str) else None
    if plain is None:
        raise ValueError(f"toolrack.{call}: type must be a media type, such as image/png or text/csv")
    return plain


def _own_name(call: str, name: object) -> str:
    if not isinstance(name, str) or not is_name(name):
        raise ValueError(
            f"toolrack.{call}: name must be a text of 1 to {NAME_CHARACTERS_MAX} characters without line breaks"
        )
    return name


def _made() -> ModuleType:
    module = ModuleType(NAME, "Images and files that the result of a tool may contain.")
    for kind in (Image, File):
        kind.__module__ = NAME
        setattr(module, kind.__name__, kind)
    module.__dict__["__all__"] = ["File", "Image"]
    return module


sys.modules[NAME] = _made()
