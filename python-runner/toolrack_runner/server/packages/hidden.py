"""What messages of uv must not show: the folders of the operator, and the address of the index with its password."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from toolrack_runner.server.package_settings import PackageSettings

#: The forms that stand for what was hidden. The patterns of `explain.py` find them with what follows them.
_FOLDER = "/hidden"
_INDEX = "index://hidden"
_STARS = "****"
#: A shorter name or password is only replaced as a part of the address. Alone, it would be found in ordinary words.
_HIDDEN_CHARACTERS = 4


class Hidden:
    """The texts are replaced as they are, because spaces and brackets in them would end every pattern."""

    def __init__(self, settings: PackageSettings) -> None:
        found: dict[str, str] = {}
        for folder in (settings.folder, settings.wheels, Path(sys.prefix), Path(sys.base_prefix)):
            for each in _with_odd_parents(folder):
                found |= dict.fromkeys(_forms(each), _FOLDER)
        if settings.index is not None:
            for secret in _secrets(settings.index):
                found |= dict.fromkeys(_forms(secret), _STARS)
            for address in _addresses(settings.index):
                found |= dict.fromkeys(_forms(address), _INDEX)
        # The longest first, because it may have a shorter one in it.
        self._found = sorted(found.items(), key=lambda each: len(each[0]), reverse=True)

    def of(self, text: str) -> str:
        """The text without them."""
        for secret, shown in self._found:
            text = text.replace(secret, shown)
        return text


def _forms(text: str) -> Iterator[str]:
    plain = unquote(text)
    yield from (
        text,
        plain,
        quote(plain, safe="/:@"),
        quote(plain, safe="/"),
        quote(plain, safe="/:@!$&'()*+,;="),
        quote(plain, safe=""),
    )


def _with_odd_parents(folder: Path | None) -> Sequence[str]:
    """The folder, and the folders above it at whose name a pattern would end."""
    if folder is None:
        return ()
    return [
        f"{each}"
        for each in (folder, *folder.parents)
        if each == folder or any(character in f"{each}" for character in " `:)")
    ]


def _secrets(index: str) -> list[str]:
    place = urlsplit(index)
    parts = (place.username, place.password)
    return [part for part in parts if part is not None and len(part) >= _HIDDEN_CHARACTERS]


def _addresses(index: str) -> Iterator[str]:
    """The address, with and without what is before the host, and as uv shows it: with stars for the password."""
    place = urlsplit(index)
    secret, _, host = place.netloc.rpartition("@")
    user = secret.partition(":")[0]
    for before in (secret, f"{user}:****", "****", user, ""):
        begin = f"{place.scheme}://{before}{'@' if before else ''}{host}"
        yield begin
        yield begin + place.path.rstrip("/")
