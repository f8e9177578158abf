"""The images and files in the result of a call. In the JSON of the result, a short object stands for each of them.

Three things become content: `toolrack.Image`, `toolrack.File`, and blocks as MCP has them:
`{"type": "image", "data": "<base64>", "mimeType": "image/png"}`.
"""

import os
import re
from binascii import a2b_base64
from typing import Any, Final, Literal, NamedTuple

from toolrack_runner.child.module.own_file import read_own_file
from toolrack_runner.child.module.result_errors import ContentTooLargeError
from toolrack_runner.child.module.secrets_of_call import has_secret
from toolrack_runner.child.module.toolrack_module import (
    UNKNOWN_TYPE,
    File,
    Image,
    Made,
    end_of_type,
    type_of_name,
    without_parameters,
)
from toolrack_runner.wire.content import CONTENT_BYTES_MAX, CONTENT_PARTS_MAX, NAME_CHARACTERS_MAX, is_name
from toolrack_runner.wire.frames import JsonObject, JsonValue

#: The key that every block of MCP with bytes has. A result without it needs no search.
_MARK: Final = '"mimeType"'
_KEYS_OF_A_BLOCK: Final = frozenset({"type", "data", "mimeType", "annotations", "_meta"})
_KEYS_OF_A_RESOURCE: Final = frozenset({"type", "resource", "annotations", "_meta"})
#: A byte of an address in percent-encoding.
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_NO_NAME: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Part(NamedTuple):
    """One image or file of a result."""

    kind: Literal["image", "file"]
    media_type: str
    name: str
    data: bytes


class Content:
    """The images and files of the present call, in the order in which they were found."""

    def __init__(self) -> None:
        #: The working folder of the child. Empty in a process that is no child; then it is the current directory.
        self.folder = ""
        self.parts: list[Part] = []
        self._bytes = 0
        #: The number of each object that a tool has returned, by its id, and the objects, so that no id is used again.
        #: Without it, an object that is written twice would count twice.
        self._numbers: dict[int, int] = {}
        self._objects: list[Made] = []

    def begin(self) -> None:
        """Forgets all content, before a call and after its answer."""
        self.parts.clear()
        self._numbers.clear()
        self._objects.clear()
        self._bytes = 0

    def form(self, made: Made) -> JsonObject:
        """The JSON that stands for an image or a file. Raises ResultError, and ContentTooLargeError."""
        number = self._numbers.get(id(made))
        if number is None:
            number = self._add(self._part_of(made))
            self._numbers[id(made)] = number
            self._objects.append(made)
        return self._shown(number)

    def without_blocks(self, value: JsonValue, text: str) -> JsonValue:
        """The value with a short object in place of each block of MCP that has bytes. `text` is the JSON of the value.

        The value consists of plain lists and dicts, which may be changed. Raises ContentTooLargeError.
        """
        return self._searched(value) if _MARK in text else value

    def _searched(self, value: Any) -> Any:
        if type(value) is list:
            value[:] = [self._searched(each) for each in value]
        elif type(value) is dict:
            part = self._part_of_block(value)
            if part is not None:
                return self._shown(self._add(part))
            for key, each in value.items():
                value[key] = self._searched(each)
        return value

    def _part_of(self, made: Made) -> Part:
        if isinstance(made, Image):
            name = made.name or f"image-{len(self.parts) + 1}{end_of_type(made.type)}"
            return Part("image", made.type, name, made.data)
        assert isinstance(made, File)
        name = made.name or _end_of_path(made.path) or f"file-{len(self.parts) + 1}"
        data = read_own_file(made.path, self.folder or os.getcwd(), self._bytes)
        return Part("file", made.type or type_of_name(name), name, data)

    def _part_of_block(self, block: dict[str, Any]) -> Part | None:
        """The image, sound or file that a block has. None if it is no such block, or its data is not in base64."""
        kind, name = block.get("type"), ""
        if kind in ("image", "audio") and block.keys() <= _KEYS_OF_A_BLOCK:
            data, said = block.get("data"), block.get("mimeType")
        elif kind == "resource" and block.keys() <= _KEYS_OF_A_RESOURCE and type(block["resource"]) is dict:
            resource = block["resource"]
            data, said, uri = (
                resource.get("blob"),
                resource.get("mimeType", UNKNOWN_TYPE),
                resource.get("uri"),
            )
            name = _end_of_path(uri) if type(uri) is str else ""
        else:
            return None
        media_type = without_parameters(said) if type(said) is str else None
        if media_type is None or type(data) is not str or not data:
            return None
        if kind == "image" and not media_type.startswith("image/"):
            return None
        size = len(data) // 4 * 3 - data.count("=", -2)
        if size > CONTENT_BYTES_MAX - self._bytes:
            raise _too_large(size, self._bytes)
        try:
            found = a2b_base64(data, strict_mode=True)
        except ValueError:
            return None
        number = len(self.parts) + 1
        if kind == "image":
            return Part("image", media_type, f"image-{number}{end_of_type(media_type)}", found)
        return Part("file", media_type, name or f"file-{number}{end_of_type(media_type)}", found)

    def _add(self, part: Part) -> int:
        """Adds a part, and returns its number."""
        if len(self.parts) == CONTENT_PARTS_MAX:
            raise ContentTooLargeError(f"more than the {CONTENT_PARTS_MAX} images and files that are allowed")
        if len(part.data) > CONTENT_BYTES_MAX - self._bytes:
            raise _too_large(len(part.data), self._bytes)
        self._bytes += len(part.data)
        self.parts.append(part)
        return len(self.parts)

    def _shown(self, number: int) -> JsonObject:
        part = self.parts[number - 1]
        facts: JsonObject = {"mimeType": part.media_type, "bytes": len(part.data)}
        return (
            {"image": number, **facts}
            if part.kind == "image"
            else {"file": number, "name": part.name, **facts}
        )


#: There is one, because a process runs one call at a time.
CONTENT: Final = Content()


def _too_large(size: int, used_bytes: int) -> ContentTooLargeError:
    together = size + used_bytes
    return ContentTooLargeError(
        f"{together} bytes of images and files or more, and {CONTENT_BYTES_MAX} are allowed"
    )


def _end_of_path(path: str) -> str:
    """The last part of a path or an address. Empty if a secret is in the path, because the part may be the end of it."""
    plain = _ESCAPED.sub(lambda escaped: bytes.fromhex(escaped[1].decode()), path.encode("utf-8", "replace"))
    if has_secret(path) or has_secret(plain.decode("utf-8", "replace")):
        return ""
    return _clean(path.rpartition("/")[2])


def _clean(name: str) -> str:
    """The name of a file, as a result may have it. Names in Linux may have any bytes but 0 and `/`."""
    plain = _NO_NAME.sub("_", name.encode("utf-8", "replace").decode())[:NAME_CHARACTERS_MAX]
    return plain if is_name(plain) else "file"
