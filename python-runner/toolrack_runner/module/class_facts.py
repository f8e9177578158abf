"""What a class is, past whatever its metaclass overrides."""

from collections.abc import Mapping

_name = type.__dict__["__name__"].__get__
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__


def class_name(kind: type) -> str:
    """The name of a class, cut where it is long."""
    name: str = _name(kind)
    return name[:64]


def type_name(value: object) -> str:
    """The type of a value as a sentence says it: `a set`, `an int`."""
    name = class_name(type(value))
    if name == "NoneType":
        return "None"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def bases(kind: type) -> tuple[type, ...]:
    """A class and all it inherits from, in the order of lookup."""
    order: tuple[type, ...] = _mro(kind)
    return order


def has_method(value: object, name: str) -> bool:
    """Whether the type of a value defines or inherits a name."""
    return any(name in _names(kind) for kind in bases(type(value)))


def _names(kind: type) -> Mapping[str, object]:
    names: Mapping[str, object] = _namespace(kind)
    return names
