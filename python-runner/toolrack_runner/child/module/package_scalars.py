"""The JSON form of numpy's scalars and of pandas' missing values. Neither package is imported for it.

Their classes are recognized by name. If a class of the module has the same name, only the module's own result is affected.
"""

from contextlib import suppress
from math import isnan
from typing import Any, Final

from toolrack_runner.child.module.facts import bases, class_name, module_name, namespace_of

#: The classes of `pandas.NA` and `pandas.NaT`.
_MISSING: Final = frozenset({"NAType", "NaTType"})
#: Classes whose method `item` returns a whole number if their unit is the nanosecond.
_TIMES: Final = frozenset({"datetime64", "timedelta64"})


def is_missing(value: object) -> bool:
    """Whether this is a missing value of pandas."""
    kind = type(value)
    return class_name(kind) in _MISSING and module_name(kind) == "pandas"


def scalar_of_numpy(value: object) -> type | None:
    """The class `numpy.generic`, if this is a scalar of numpy; else None."""
    for kind in bases(type(value)):
        if class_name(kind) == "generic" and module_name(kind) == "numpy":
            return kind
    return None


def form_of_scalar(value: Any, generic: type) -> object:
    """The Python value for a numpy scalar: a number, a bool, a text, a date or a duration. None for NaN and NaT.

    A time with nanoseconds, or outside of Python's range, becomes a text. A duration is exact to the microsecond.
    """
    methods = namespace_of(generic)
    item = methods["item"](value)
    kind = class_name(type(value))
    if kind == "timedelta64" and type(item) is int:
        with suppress(TypeError):  # Months and years have no fixed length.
            item = methods["astype"](value, "m8[us]", casting="same_kind").item()
    if kind in _TIMES and type(item) is int:
        text = str(value)
        return text.rstrip("0").rstrip(".") if "." in text else text
    if kind == "longdouble":
        item = float(item)
    return None if type(item) is float and isnan(item) else item
