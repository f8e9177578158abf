"""From the bytes of an upload to Python source text."""

import re

from toolrack_runner.module.fault import Fault, ModuleFault, fault
from toolrack_runner.module.limits import SOURCE_BYTES_MAX

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK_OR_COMMENT = re.compile(r"^[ \t\f]*(?:#|$)")
_UTF8_NAMES = {"utf-8", "utf8", "utf_8", "u8", "utf-8-sig", "utf_8_sig"}


def source_text(module: str, source: bytes) -> str:
    """The text of a module; raises ModuleFault where Python could not read the file as UTF-8."""
    found = _size_fault(module, source) or _encoding_fault(module, source)
    if found:
        raise ModuleFault(found)
    return source.removeprefix(_BOM).decode("utf-8")


def _size_fault(module: str, source: bytes) -> Fault | None:
    if len(source) <= SOURCE_BYTES_MAX:
        return None
    sentence = f"the file is {len(source):,} bytes; a module may have {SOURCE_BYTES_MAX:,}. Split it."
    return fault("source_too_large", module, None, sentence)


def _encoding_fault(module: str, source: bytes) -> Fault | None:
    for bom, encoding in _OTHER_BOMS.items():
        if source.startswith(bom):
            return fault("source_not_utf8", module, 1, f"the file is {encoding}. Save it as UTF-8.")
    nul = source.find(b"\0")
    if nul >= 0:
        return fault("source_has_nul", module, _line_at(source, nul), "the file holds a NUL byte. Remove it.")
    try:
        text = source.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + (len(_BOM) if source.startswith(_BOM) else 0)
        sentence = f"byte 0x{source[offset]:02X} is not UTF-8. Save the file as UTF-8."
        return fault("source_not_utf8", module, _line_at(source, offset), sentence)
    return _cookie_fault(module, text)


def _cookie_fault(module: str, text: str) -> Fault | None:
    """A coding line of another encoding, which stands in the first line, or the second after a comment."""
    for number, line in enumerate(text.split("\n", 2)[:2], start=1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower() not in _UTF8_NAMES:
            sentence = f"the coding line says {cookie[1][:32]}, but modules are UTF-8. Remove the line and save as UTF-8."
            return fault("source_not_utf8", module, number, sentence)
        if not _BLANK_OR_COMMENT.match(line):
            return None
    return None


def _line_at(source: bytes, offset: int) -> int:
    before = source[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1
