"""The images and files in the result of a call, and the files of its arguments: their limits and the form of their facts."""

import re

#: The most bytes of the images and files in one result together, and of the files of one call's arguments. A chart or a page
#: of a scan has less than 1 MB. Both the server process and the service hold them in base64 too, and in a JSON around that:
#: about 32 MB of each process for the largest call, so eight such calls at once take about 256 MB of each.
CONTENT_BYTES_MAX = 8 << 20
#: The most images and files in one result. Each is an artifact of the service, and no vendor takes more in one message.
CONTENT_PARTS_MAX = 16
#: The most files of one call's arguments. Each needs a folder and a file of the child's quota (`QUOTA_INODES`).
ATTACHED_MAX = 16
#: The bytes of one piece of content. Every piece but the last of an image or a file has exactly so many. The number is a
#: multiple of 3, so that the pieces in base64 can be joined without decoding them.
PIECE_BYTES = 192 << 10
#: The most characters of a piece in base64.
PIECE_CHARACTERS_MAX = PIECE_BYTES // 3 * 4
#: The most characters of a name. File systems allow no longer names of files.
NAME_CHARACTERS_MAX = 255
#: How many bytes of messages one result's content may take: its bytes in base64, and a kilobyte for each message around them
#: and around a last piece. A name may need six bytes for each of its characters.
WRITTEN_BYTES_MAX = (
    CONTENT_BYTES_MAX // 3 * 4 + (2 * CONTENT_PARTS_MAX + CONTENT_BYTES_MAX // PIECE_BYTES) * 2_048
)

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def is_media_type(text: str) -> bool:
    """Whether a text is a media type without parameters, in lower case, such as `image/png` (RFC 6838)."""
    return _TYPE.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a text may be the name of an image or a file: it is not empty, not too long, and has no control characters."""
    return 0 < len(text) <= NAME_CHARACTERS_MAX and _CONTROL.search(text) is None
