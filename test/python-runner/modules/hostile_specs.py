"""Specs whose classes override everything that reading them could call."""


class Hostile(dict):
    def _refuse(self, *args, **kwargs):
        raise SystemExit("a method of the module was called")

    __getitem__ = __iter__ = __len__ = __contains__ = __eq__ = __repr__ = __str__ = _refuse
    get = items = keys = values = copy = _refuse
    __hash__ = None


class HostileList(list):
    def _refuse(self, *args, **kwargs):
        raise SystemExit("a method of the module was called")

    __getitem__ = __iter__ = __len__ = __contains__ = __eq__ = __repr__ = __bool__ = _refuse
    __hash__ = None


class HostileText(str):
    def _refuse(self, *args, **kwargs):
        raise SystemExit("a method of the module was called")

    __len__ = __iter__ = __getitem__ = __contains__ = __repr__ = __str__ = __format__ = _refuse
    startswith = encode = strip = split = partition = rpartition = _refuse

    def __hash__(self):
        return str.__hash__(self)

    __eq__ = str.__eq__


class Pretender:
    """Says that it is a dict."""

    __class__ = dict


def run(word: str) -> str:
    """Answer."""
    return word


TOOL_SPECS = HostileList(
    [
        Hostile(
            name=HostileText("hostile_specs:run"),
            description=HostileText("Answer."),
            handler=run,
            parameters=Hostile(
                type=HostileText("object"),
                properties=Hostile(word=Hostile(type="string")),
                required=HostileList([HostileText("word")]),
            ),
        ),
        Pretender(),
        {HostileText("name"): "hostile_specs:other", "handler": run},
    ]
)
