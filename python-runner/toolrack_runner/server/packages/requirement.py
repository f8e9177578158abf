"""One requirement of a module: a package and its versions, in the one form that is shown, locked and sent to uv."""

import re
from typing import NamedTuple

from packaging.markers import InvalidMarker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as ParsedRequirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

#: The most characters of a requirement. The longest that authors write have a marker and five extras.
CHARACTERS_MAX = 256
#: Every character that a requirement needs. Other characters mean something in a file of requirements: a line break starts
#: an option, `$` a variable, `#` a comment, a backslash continues the line.
_CHARACTERS = re.compile(r"""[A-Za-z0-9 ._\-+*\[\],<>=!~;()'"]+""", re.ASCII)
#: The order in which the conditions of a version are shown: `>=2,<3`.
_OPERATORS = ("==", "~=", ">=", ">", "<=", "<", "!=")
_A_PLACE = "it names a place. Name only the package and its versions, such as pandas>=2"


class RequirementError(Exception):
    """The text is no requirement that may be used. The message is the end of a sentence, with the cure."""


class Requirement(NamedTuple):
    #: The normalised name (PEP 503).
    name: str
    #: The canonical text, such as `pandas[aws]>=2,<3 ; python_version < "3.13"`.
    text: str
    #: The text without the marker. Only this text is sent to uv.
    bare: str
    #: Whether its marker holds for this interpreter.
    applies: bool


def read_requirement(text: str) -> Requirement:
    """Reads a requirement as PEP 508 writes it; raises RequirementError. URLs and paths are refused."""
    if len(text) > CHARACTERS_MAX:
        raise RequirementError(f"it has more than {CHARACTERS_MAX} characters")
    if "@" in text or "/" in text or "\\" in text:
        raise RequirementError(_A_PLACE)
    if not _CHARACTERS.fullmatch(text):
        raise RequirementError("it has a character that no requirement has. Write it such as pandas>=2")
    try:
        parsed = ParsedRequirement(text)
    except (InvalidRequirement, RecursionError):
        raise RequirementError("it is no requirement. Write it such as pandas>=2,<3") from None
    if parsed.url is not None:
        raise RequirementError(_A_PLACE)
    specifiers = list(parsed.specifier)
    if any(each.operator not in _OPERATORS for each in specifiers):
        raise RequirementError("=== compares texts. Write ==")
    try:
        applies = parsed.marker is None or parsed.marker.evaluate()
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, InvalidVersion, RecursionError):
        raise RequirementError("its marker (the part after ;) compares what cannot be compared") from None
    name = canonicalize_name(parsed.name)
    extras = ",".join(sorted({canonicalize_name(extra) for extra in parsed.extras}))
    specifiers.sort(key=lambda each: (_OPERATORS.index(each.operator), each.version))
    versions = ",".join(dict.fromkeys(f"{each.operator}{each.version}" for each in specifiers))
    bare = f"{name}{f'[{extras}]' if extras else ''}{versions}"
    return Requirement(name, bare if parsed.marker is None else f"{bare} ; {parsed.marker}", bare, applies)
