"""Tells how the conversion reads a text in each argument. The rules need this to decide about the value that is used.

The report of an argument lists the ways in which its text may be read:

- a kind: `path`, `url`, `date`, `date-time`, `decimal`, `uuid` or `text`; `text` may be followed by an edit that the type
  makes, as in `text:strip-lower`;
- `other`, if code of the module reads the text;
- `value`, if the handler gets a number, a time or another value that is no text.

`packages/contract/src/kinds/` reads these reports.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import PureWindowsPath
from typing import Any, TypeAlias

from toolrack_runner.child.module.annotations import REST, annotated, to_convert
from toolrack_runner.child.module.convert import arguments_adapter
from toolrack_runner.child.module.handler import DescribedHandler
from toolrack_runner.child.module.own_code import has_own_method, is_plain_enum, makes_own_schema

#: Stands for `**kwargs` in a report. No argument can have this name.
REST_NAME = "**"

Readings: TypeAlias = frozenset[str]

NOTHING: Readings = frozenset()
TEXT: Readings = frozenset({"text"})
OTHER: Readings = frozenset({"other"})
VALUE: Readings = frozenset({"value"})

#: Core schemas of pydantic that read a text as one of these kinds.
_KINDS = {"uuid": "uuid", "date": "date", "datetime": "date-time", "decimal": "decimal"}
#: Core schemas of pydantic that read a text and make another value, such as a time. The report says `value`.
_VALUES = ("time", "timedelta", "json", "complex", "fraction", "multi-host-url")
#: Core schemas of pydantic that accept no text in strict JSON.
_NO_TEXT = (
    *("none", "bool", "int", "float", "list", "tuple", "set", "frozenset", "dict", "generator", "typed-dict"),
    *(
        "model-fields",
        "dataclass-args",
        "arguments",
        "arguments-v3",
        "is-instance",
        "is-subclass",
        "callable",
    ),
)
#: Core schemas that contain another schema. The value is the key of the inner schema, which reads the value in strict JSON.
_AROUND = {
    "nullable": "schema",
    "custom-error": "schema",
    "typed-dict-field": "schema",
    "lax-or-strict": "strict_schema",
    "call": "arguments_schema",
}
_FUNCTIONS = ("function-before", "function-after", "function-wrap", "function-plain")
#: Functions of pydantic that check a value and return it unchanged.
_CHECKS = frozenset(
    [
        *(
            f"pydantic._internal._validators.{name}_validator"
            for name in ("greater_than", "less_than", "multiple_of")
        ),
        *(
            f"pydantic._internal._validators.{name}_or_equal_validator"
            for name in ("greater_than", "less_than")
        ),
        *(f"pydantic._internal._validators.{name}_length_validator" for name in ("min", "max")),
        *(f"pydantic.types.PathType.validate_{name}" for name in ("file", "directory", "new", "socket")),
        "pydantic.networks._BaseUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
        "pydantic.types.SecretStr",
        "pydantic.types.SecretBytes",
    ]
)
_TO_PATH = "pydantic._internal._generate_schema.GenerateSchema._path_schema.<locals>.path_validator"
_TO_PATTERN = ("pattern_either_validator", "pattern_str_validator")
#: The function of pydantic that calls a function of the module's author.
_PREDICATE = "pydantic._internal._known_annotated_metadata.apply_known_metadata.<locals>.val_func"


def argument_kinds(handler: DescribedHandler, *, converts: bool) -> dict[str, list[str]]:
    """How a text is read in each argument. Arguments that get the text unchanged are left out.

    May run code of the module, and raise. Without a conversion the handler gets each text unchanged. If the annotation names
    another kind, `text` and this kind are reported, because the handler will treat the text as this kind.
    """
    hints = to_convert(handler) if converts else annotated(handler)
    found: dict[str, list[str]] = {}
    for name, hint in hints.items():
        readings = _readings_of(hint)
        if not converts:
            readings = TEXT | frozenset(
                each for each in readings if each in ("path", "url", *_KINDS.values())
            )
        if readings not in (TEXT, NOTHING):
            found[REST_NAME if name == REST else name] = sorted(readings)
    return found


def _readings_of(hint: Any) -> Readings:
    """How the conversion of one argument reads a text. May run code of the module, and raise."""
    reader = _Reader()
    schema = reader.within(arguments_adapter({"argument": hint}).core_schema, {})
    readings = reader.read(schema["fields"]["argument"]["schema"], schema["config"])
    return readings | OTHER if readings and makes_own_schema(hint) else readings


class _Reader:
    """Reads the core schema of an argument. Reports `other` for a schema that it does not know."""

    def __init__(self) -> None:
        #: The schema of each definition, and the configuration that applies to the definition.
        self._targets: dict[str, tuple[Any, Any]] = {}
        self._inside: set[str] = set()
        self._readers: dict[str, Callable[[Any, Any], Readings]] = {
            "any": self._any,
            "str": self._str,
            "bytes": self._bytes,
            "url": self._url,
            "literal": self._literal,
            "enum": self._enum,
            "union": self._union,
            "tagged-union": self._tagged_union,
            "default": self._default,
            "chain": self._chain,
            "model": self._model,
            "dataclass": self._model,
            "json-or-python": self._json_or_python,
            "definitions": self._with_definitions,
            "definition-ref": self._referenced,
            **dict.fromkeys(_FUNCTIONS, self._function),
        }

    def within(self, schema: Any, config: Any) -> Any:
        """Notes the definitions around a schema, and returns the schema inside them.

        A definition has the configuration that is around it, not the configuration of a schema that refers to it.
        """
        while schema["type"] == "definitions":
            self._targets |= {each["ref"]: (each, config) for each in schema["definitions"]}
            schema = schema["schema"]
        return self._targets[schema["schema_ref"]][0] if schema["type"] == "definition-ref" else schema

    def read(self, schema: Any, config: Any) -> Readings:
        """How this schema reads a text. `config` is the configuration of the model that contains the schema."""
        kind: str = schema["type"]
        if kind in _KINDS:
            return frozenset({_KINDS[kind]})
        if kind in _NO_TEXT:
            return NOTHING
        if kind in _VALUES:
            return VALUE
        if kind in _AROUND:
            return self.read(schema[_AROUND[kind]], config)
        reader = self._readers.get(kind)
        return reader(schema, config) if reader else OTHER

    def _any(self, _schema: Any, _config: Any) -> Readings:
        return TEXT

    def _str(self, schema: Any, config: Any) -> Readings:
        edits = [
            edit
            for edit, key in (("strip", "strip_whitespace"), ("lower", "to_lower"), ("upper", "to_upper"))
            if schema.get(key, config.get(f"str_{key}"))
        ]
        return frozenset({f"text:{'-'.join(edits)}"}) if edits else TEXT

    def _bytes(self, _schema: Any, config: Any) -> Readings:
        encoding = config.get("val_json_bytes", "utf8")
        return {"utf8": TEXT, "base64": frozenset({"text:base64"})}.get(encoding, VALUE)

    def _url(self, schema: Any, _config: Any) -> Readings:
        # If the type has a default host, port or path, the URL is changed by it.
        is_as_sent = not any(schema.get(f"default_{part}") for part in ("host", "port", "path"))
        return frozenset({"url"}) if is_as_sent else VALUE

    def _literal(self, schema: Any, _config: Any) -> Readings:
        return _listed(schema["expected"])

    def _enum(self, schema: Any, _config: Any) -> Readings:
        return _listed(schema["members"]) if is_plain_enum(schema["cls"]) else OTHER

    def _union(self, schema: Any, config: Any) -> Readings:
        choices = [each[0] if isinstance(each, tuple) else each for each in schema["choices"]]
        return NOTHING.union(*(self.read(each, config) for each in choices))

    def _tagged_union(self, schema: Any, config: Any) -> Readings:
        readings = NOTHING.union(*(self.read(each, config) for each in schema["choices"].values()))
        return readings | OTHER if callable(schema["discriminator"]) else readings

    def _default(self, schema: Any, config: Any) -> Readings:
        return self.read(schema["schema"], config) if schema.get("on_error", "raise") == "raise" else OTHER

    def _chain(self, schema: Any, config: Any) -> Readings:
        first, *others = schema["steps"]
        readings = self.read(first, config)
        return readings if all(each["type"] in ("any", "is-instance") for each in others) else VALUE

    def _model(self, schema: Any, _config: Any) -> Readings:
        readings = self.read(schema["schema"], schema.get("config", {}))
        runs_code = (
            schema.get("custom_init") or schema.get("post_init") or has_own_method(schema["cls"], "__new__")
        )
        return OTHER if readings and runs_code else readings

    def _json_or_python(self, schema: Any, config: Any) -> Readings:
        kind = schema["python_schema"].get("cls")
        # Paths of Windows have another separator, and a drive.
        if isinstance(kind, type) and issubclass(kind, PureWindowsPath):
            return VALUE
        return self.read(schema["json_schema"], config)

    def _with_definitions(self, schema: Any, config: Any) -> Readings:
        return self.read(self.within(schema, config), config)

    def _referenced(self, schema: Any, _config: Any) -> Readings:
        name = schema["schema_ref"]
        if name in self._inside:
            return NOTHING
        self._inside.add(name)
        try:
            return self.read(*self._targets[name])
        finally:
            self._inside.discard(name)

    def _function(self, schema: Any, config: Any) -> Readings:
        name = _name_of(schema["function"]["function"])
        inner = self.read(schema["schema"], config) if "schema" in schema else TEXT
        if schema["type"] == "function-after" and not inner:
            return NOTHING
        if name in _CHECKS:
            return inner
        if name == _TO_PATH:
            return frozenset({"path"}) if inner == TEXT else VALUE
        if name.rpartition(".")[2] in _TO_PATTERN and name.startswith("pydantic."):
            return TEXT
        is_of_pydantic = name.startswith(("pydantic.", "ipaddress.")) and name != _PREDICATE
        return VALUE if is_of_pydantic else OTHER


def _listed(values: Any) -> Readings:
    """How a text is read that must be one of these values.

    If an Enum has values that are not texts, code of the module may compare them.
    """
    if any(isinstance(each, Enum) and not is_plain_enum(type(each)) for each in values):
        return OTHER
    plain = [each.value if isinstance(each, Enum) else each for each in values]
    if any(type(each) not in (str, int, float, bool, bytes, type(None)) for each in plain):
        return OTHER
    return TEXT if any(type(each) is str for each in plain) else NOTHING


def _name_of(function: Any) -> str:
    """The module and the name of the function inside any partials; empty if it has none."""
    while isinstance(function, partial):
        function = function.func
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else ""
