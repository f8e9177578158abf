"""What a module puts in the place of a name counts for its own code, and never for the runner."""

import builtins
import sys
from typing import Any

import pytest

from child.module.apart import called_apart, checked_apart
from child.module.tools import MODULES, called, checked, kinds, load_fault, loaded, source_of
from toolrack_runner.child.module.trusted_names import TrustedNames

PATCHES = (MODULES / "patches_everything.py").read_bytes()


def test_a_module_that_replaces_every_name_it_can_find_is_reported_honestly() -> None:
    report = checked_apart("patches_everything", PATCHES)
    assert report["ok"], report
    (tool,) = report["tools"]
    assert tool["parameters"]["required"] == ["word"]
    assert tool["examples"][0]["matched"] is True


def test_a_handler_of_such_a_module_is_called_and_answered() -> None:
    answer = called_apart("patches_everything", PATCHES, word="a")
    assert answer == {"outcome": "success", "value": {"word": "a"}, "text": '{"word":"a"}'}
    assert "Did you mean 'word'?" in called_apart("patches_everything", PATCHES, wort="a")["error"]


@pytest.mark.parametrize("run", ["def run(): return 1", "async def run(): return 1"])
def test_a_module_that_clears_away_every_module_is_answered(run: str) -> None:
    assert called_apart("weather", source_of(f"import sys\nsys.modules.clear()\n{run}"))["text"] == "1"


@pytest.mark.parametrize(
    "patch",
    [
        "import builtins; builtins.len = builtins.issubclass = builtins.str = None",
        "import json; json.JSONEncoder = json.encoder.c_make_encoder = json.encoder.INFINITY = None",
        "import json; json.decoder.scanner = None",
        "import sys; sys.modules['json'] = sys.modules['inspect'] = sys.modules['toolrack_runner.child.module.call'] = None",
        "import sys; sys.settrace(stop)",
        "import sys; sys.setprofile(stop)",
        "import toolrack_runner.child.module.call as c; c.result_of = c.failure = c.raised = None",
        "import toolrack_runner.child.module.result as r; r._encode = lambda _: 'forged'",
        "import toolrack_runner.child.module.trusted_names as t; t.TrustedNames = t.sys = t._restorer = None",
    ],
)
@pytest.mark.parametrize("when", ["import", "call"])
def test_no_single_patch_changes_what_is_answered(patch: str, when: str) -> None:
    run = (
        "def run(): return {'a': [1]}\n"
        if when == "import"
        else f"def run():\n    {patch}\n    return {{'a': [1]}}\n"
    )
    stop = "def stop(frame, event, argument):\n    if 'trusted_names' in frame.f_code.co_filename: 1 / 0\n"
    source = f"{stop}{patch}\n{run}" if when == "import" else stop + run
    assert called(source) == {"outcome": "success", "value": {"a": [1]}, "text": '{"a":[1]}'}


def test_what_a_result_patches_while_it_is_written_as_json_does_not_last() -> None:
    outcome = called(
        """
        import builtins
        class Sly(dict):
            def items(self):
                builtins.ascii = None
                return [("a", 1)]
        def run(): return Sly(a=1)
        """
    )
    assert outcome["text"] == '{"a":1}'
    assert ascii(1) == "1"


def test_what_an_exception_patches_while_it_is_told_does_not_last() -> None:
    source = """
        import builtins
        class Sly(Exception):
            def __str__(self):
                builtins.ascii = None
                return "sly"
        """
    assert called(f"{source}\n        def run(): raise Sly")["error"].endswith("weather.Sly: sly")
    assert ascii(1) == "1"
    assert "weather.Sly: sly" in load_fault(f"{source}\n        raise Sly").message
    assert ascii(1) == "1"


def test_what_a_signature_patches_while_it_is_read_does_not_last() -> None:
    loaded(
        """
        import builtins, inspect
        class Sly:
            @property
            def __signature__(self):
                builtins.ascii = None
                return inspect.Signature()
            def __call__(self): ...
        def run(): ...
        run.__wrapped__ = Sly()
        """
    )
    assert ascii(1) == "1"


def test_a_module_keeps_its_own_version_from_one_call_to_the_next() -> None:
    seen: list[Any] = []
    original = builtins.ascii
    names = TrustedNames()

    def patch() -> None:
        builtins.ascii = lambda _: "theirs"

    names.run(patch)
    seen.append(builtins.ascii is original)
    seen.append(names.run(lambda: builtins.ascii(1)))
    seen.append(names.keep(lambda: builtins.ascii(1)))
    seen.append(names.run(lambda: builtins.ascii(1)))
    assert seen == [True, "theirs", "1", "theirs"]
    assert builtins.ascii is original


def test_a_name_that_was_deleted_comes_back() -> None:
    names = TrustedNames()
    names.run(lambda: delattr(builtins, "ascii"))
    assert ascii(1) == "1"


def test_names_are_put_back_when_the_code_raises() -> None:
    assert kinds(checked("import builtins\nbuiltins.len = None\n1 / 0")) == ["import_raised"]
    assert len("a") == 1


def test_the_recursion_limit_is_the_runners_again() -> None:
    before = sys.getrecursionlimit()
    called("import sys\nsys.setrecursionlimit(sys.getrecursionlimit() + 7)\ndef run(): return 1")
    assert sys.getrecursionlimit() == before
