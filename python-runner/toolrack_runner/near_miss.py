"""Finds the name that somebody has probably meant, and lists names for sentences."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONG = 64


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`. Upper and lower case are the same. None if no name is similar."""
    if len(name) > _LONG:
        return None
    by_folded = {
        candidate.casefold().replace("-", "_"): candidate for candidate in known if len(candidate) <= _LONG
    }
    found = get_close_matches(name.casefold().replace("-", "_"), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `. Did you mean 'city'?` if a known name is similar, else a full stop."""
    meant = near_miss(name, known)
    return f". Did you mean '{meant}'?" if meant else "."


def misspelled(name: str, found: Iterable[str]) -> str:
    """Like `did_you_mean`, if a name is missing that may be misspelled in `found`: `. Did you misspell it as 'x'?`."""
    near = near_miss(name, found)
    return f". Did you misspell it as '{near}'?" if near else "."


def named(names: Iterable[str]) -> str:
    """The names as words of a sentence, each in quotes and shortened: `'city', 'unit' and 'days'`."""
    quoted = [f"'{name if len(name) <= _LONG else name[:_LONG] + '…'}'" for name in names]
    if len(quoted) > 8:
        quoted = [*quoted[:7], f"{len(quoted) - 7} more"]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
