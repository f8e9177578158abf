"""The name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONG = 64


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """The known name nearest to `name`, however it is cased; None where none is near."""
    if len(name) > _LONG:
        return None
    by_folded = {
        candidate.casefold().replace("-", "_"): candidate for candidate in known if len(candidate) <= _LONG
    }
    found = get_close_matches(name.casefold().replace("-", "_"), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean 'city'?`, or a full stop."""
    meant = near_miss(name, known)
    return f"; did you mean '{meant}'?" if meant else "."


def named(names: Iterable[str]) -> str:
    """Names as a sentence lists them, each quoted and cut: `'city', 'unit' and 'days'`."""
    quoted = [f"'{name if len(name) <= _LONG else name[:_LONG] + '…'}'" for name in names]
    if len(quoted) > 8:
        quoted = [*quoted[:7], f"{len(quoted) - 7} more"]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
