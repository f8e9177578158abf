"""Images and files in a result: a short object stands for each in the JSON, and their bytes go beside it."""

import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from child.module.tools import called, checked, kinds, load_fault, loaded
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.content import CONTENT, Part

PNG = b"\x89PNG\r\n\x1a\n"
SHOWN = {"image": 1, "mimeType": "image/png", "bytes": len(PNG)}
BLOCK = {"type": "image", "data": b64encode(PNG).decode(), "mimeType": "image/png"}
IMAGE = "toolrack.Image(PNG, 'image/png')"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def returned(expression: str, before: str = "pass") -> tuple[dict[str, Any], list[Part]]:
    """The outcome of a tool that returns this, and the images and files beside it."""
    outcome = called(
        f"import toolrack\nPNG = {PNG!r}\n\ndef run():\n    from pathlib import Path; {before}\n    return {expression}\n"
    )
    return outcome, list(CONTENT.parts)


PLACES: dict[str, tuple[str, Any]] = {
    "as the whole result": (IMAGE, SHOWN),
    "in a list": (f"[1, {IMAGE}]", [1, SHOWN]),
    "in a tuple": (f"({IMAGE}, 'x')", [SHOWN, "x"]),
    "in a dict": (f"{{'a': [{{'b': {IMAGE}}}]}}", {"a": [{"b": SHOWN}]}),
    "in a set": (f"{{{IMAGE}}}", [SHOWN]),
    "beside what only a copy has a form for": (
        f"{{(1).__class__(1): {IMAGE}, 'd': __import__('datetime').date(2020, 1, 2)}}",
        {"1": SHOWN, "d": "2020-01-02"},
    ),
    "beside a key that is a date": (
        f"{{__import__('datetime').date(2020, 1, 2): {IMAGE}}}",
        {"2020-01-02": SHOWN},
    ),
}


@pytest.mark.parametrize(("expression", "value"), PLACES.values(), ids=PLACES)
def test_an_image_may_be_anywhere_in_a_result(expression: str, value: Any) -> None:
    outcome, parts = returned(expression)
    assert outcome["value"] == value, outcome
    assert parts == [Part("image", "image/png", "image-1.png", PNG)]


def test_an_image_may_be_in_a_dataclass() -> None:
    outcome = called(f"""
        from dataclasses import dataclass
        from toolrack import Image

        @dataclass
        class Chart:
            title: str
            image: Image

        def run():
            return [Chart("a", Image({PNG!r}, "IMAGE/PNG; q=1", name="chart.png"))]
        """)
    assert outcome["value"] == [{"title": "a", "image": SHOWN}]
    assert CONTENT.parts == [Part("image", "image/png", "chart.png", PNG)]


def test_an_object_that_is_in_the_result_twice_is_sent_once() -> None:
    outcome, parts = returned("[one, one, toolrack.Image(b'x', 'image/gif')]", f"one = {IMAGE}")
    assert outcome["value"] == [SHOWN, SHOWN, {"image": 2, "mimeType": "image/gif", "bytes": 1}]
    assert [each.data for each in parts] == [PNG, b"x"]


def test_the_bytes_are_those_of_the_moment_of_the_return() -> None:
    outcome, parts = returned(
        "[image, data.clear()]", "data = bytearray(PNG); image = toolrack.Image(data, 'image/png')"
    )
    assert outcome["value"] == [SHOWN, None]
    assert parts[0].data == PNG


def test_a_file_has_the_name_and_the_type_of_its_path_or_others(tmp_path: Path) -> None:
    before = "Path('täble.CSV').write_text('a,b'); Path('plain').write_text('')"
    outcome, parts = returned(
        "[toolrack.File('täble.CSV'), toolrack.File(__import__('pathlib').Path('plain'), 'p.bin', 'x/y')]",
        before,
    )
    assert outcome["value"] == [
        {"file": 1, "name": "täble.CSV", "mimeType": "text/csv", "bytes": 3},
        {"file": 2, "name": "p.bin", "mimeType": "x/y", "bytes": 0},
    ]
    assert parts == [Part("file", "text/csv", "täble.CSV", b"a,b"), Part("file", "x/y", "p.bin", b"")]


def test_the_folder_of_a_relative_path_is_that_of_the_moment_it_is_given() -> None:
    before = "import os; os.mkdir('sub'); os.chdir('sub'); Path('a.txt').write_text('sub'); "
    before += "made = toolrack.File('a.txt'); os.chdir('..')"
    assert returned("made", before)[1][0].data == b"sub"


SECRET_PLACES = {
    "the path of a file": ("toolrack.File(path)", {"file": 1, "name": "file-1"}),
    "the path of a file with a type": ("toolrack.File(path, type='text/csv')", {"file": 1, "name": "file-1"}),
    "an address": (
        "[{'type': 'resource', 'resource': {'uri': 'file:///' + key, 'mimeType': 'x/y', 'blob': 'eA=='}}]",
        {"file": 1, "name": "file-1"},
    ),
    "an address in percent-encoding": (
        "[{'type': 'resource', 'resource': {'uri': 'file:///' + quote(key), 'mimeType': 'x/y', 'blob': 'eA=='}}]",
        {"file": 1, "name": "file-1"},
    ),
}


@pytest.mark.parametrize(("expression", "shown"), SECRET_PLACES.values(), ids=SECRET_PLACES)
def test_no_name_is_the_end_of_a_path_with_a_secret(expression: str, shown: dict[str, Any]) -> None:
    before = "from pathlib import Path; from urllib.parse import quote; key = context['secrets']['K']; "
    before += "path = Path(key); path.parent.mkdir(); path.write_text('x')"
    outcome = called(
        f"import toolrack\n\ndef run(context: dict) -> object:\n    {before}\n    return {expression}\n",
        context={"secrets": {"K": "Folder Of/Ann-0123456789"}},
    )
    value = outcome["value"]
    found = value[0] if isinstance(value, list) else value
    assert found.items() >= shown.items(), outcome
    assert "0123456789" not in outcome["text"]
    assert "0123456789" not in CONTENT.parts[0].name


@pytest.mark.parametrize("expression", ["Image(b'x', 'image/' + key)", "File('a', type='x/' + key)"])
def test_a_type_with_a_secret_is_no_type(expression: str) -> None:
    outcome = called(
        "import toolrack\n\ndef run(context: dict) -> object:\n"
        f"    key = context['secrets']['K']\n    return toolrack.{expression}\n",
        context={"secrets": {"K": "Kq7Zx9Canary"}},
    )
    assert outcome["code"] == "TOOL_RAISED", outcome
    assert "type must be a media type" in outcome["error"]
    assert "canary" not in outcome["error"]


NO_FILE = {
    "a file that does not exist": ("'missing.csv'", "pass", "which does not exist"),
    "a file in no folder": ("'a/b/missing.csv'", "pass", "which does not exist"),
    "a link": ("'link'", "Path('a').touch(); os.symlink('a', 'link')", "which is a link"),
    "a link to nothing": ("'link'", "os.symlink('nowhere', 'link')", "which is a link"),
    "a FIFO": ("'fifo'", "os.mkfifo('fifo')", "which is a FIFO"),
    "a folder": ("'sub'", "os.mkdir('sub')", "which is a folder"),
    "the folder itself": ("'.'", "pass", "which is"),
    "a socket": (
        "'s'",
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('s'); s.close()",
        "which is a socket",
    ),
    "a device": ("'/dev/null'", "pass", "which is not in the working folder"),
    "a file of the system": ("'/etc/hostname'", "pass", "which is not in the working folder"),
    "a file above": ("'../x'", "pass", "which is not in the working folder"),
    "a folder that is a link to elsewhere": (
        "'sub/hostname'",
        "os.symlink('/etc', 'sub')",
        "which is not in the working folder",
    ),
    "a folder with the beginning of the name": (
        "folder + 'x/a'",
        "os.makedirs(folder + 'x'); Path(folder + 'x/a').touch()",
        "which is not in the working folder",
    ),
    "a name that no file has": ("'x' * 300", "pass", "which can't be read (File name too long)"),
    "a path with a NUL": ("'a\\0b'", "pass", "which is no path"),
}


@pytest.mark.parametrize(("path", "before", "said"), NO_FILE.values(), ids=NO_FILE)
def test_only_a_regular_file_in_the_working_folder_is_read(path: str, before: str, said: str) -> None:
    outcome, parts = returned(f"[toolrack.File({path})]", f"import os; folder = os.getcwd(); {before}")
    assert outcome["code"] == "RESULT_INVALID", outcome
    assert outcome["error"].startswith("run(): the result has the file '")
    assert said in outcome["error"]
    assert parts == []


def test_a_folder_that_is_a_link_inside_of_the_working_folder_is_fine() -> None:
    before = "import os; os.mkdir('a'); os.symlink('a', 'b'); Path('b/x.txt').write_text('x')"
    assert returned("toolrack.File('b/x.txt')", before)[1][0].data == b"x"


def test_a_file_that_grows_while_it_is_read_is_as_it_was_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolrack_runner.child.module import own_file

    Path("log.txt").write_bytes(b"x" * 10)

    def grows(descriptor: int, count: int) -> bytes:
        with open("log.txt", "ab") as file:
            file.write(b"y" * 1_000)
        return os.read(descriptor, min(count, 4))

    monkeypatch.setattr(own_file, "_read", grows)
    assert returned("toolrack.File('log.txt')")[1][0].data == b"x" * 10


def test_a_file_that_becomes_shorter_has_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolrack_runner.child.module import own_file

    Path("log.txt").write_bytes(b"x" * 10)

    def shrinks(descriptor: int, count: int) -> bytes:
        os.truncate("log.txt", 4)
        return os.read(descriptor, count)

    monkeypatch.setattr(own_file, "_read", shrinks)
    outcome, parts = returned("toolrack.File('log.txt')")
    assert parts[0].data == b"xxxx"
    assert outcome["value"]["bytes"] == 4


TOO_LARGE = {
    "a sparse file of 1 GB": (
        "toolrack.File('a')",
        "import os; Path('a').touch(); os.truncate('a', 1 << 30)",
        "has the file 'a' of 1073741824 bytes, and 8388608 bytes of images and files are allowed; ask for less.",
    ),
    "one byte too many": (
        "toolrack.Image(bytes((8 << 20) + 1), 'image/png')",
        "pass",
        "The result of weather:run has 8388609 bytes of images and files or more, and 8388608 are allowed; ask for less.",
    ),
    "too many bytes together": (
        "[toolrack.Image(bytes(8 << 20), 'image/png'), toolrack.File('a')]",
        "Path('a').write_text('x')",
        "has the file 'a' of 1 bytes after 8388608 bytes of others, and 8388608 bytes",
    ),
    "too many": (
        "[toolrack.Image(b'x', 'image/png') for _ in range(17)]",
        "pass",
        "The result of weather:run has more than the 16 images and files that are allowed; ask for less.",
    ),
    "a large block of MCP": (
        "[{'type': 'image', 'data': 'A' * (12 << 20), 'mimeType': 'image/png'}]",
        "pass",
        "has 9437184 bytes of images and files or more",
    ),
}


@pytest.mark.parametrize(("expression", "before", "said"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_more_than_a_result_may_have_is_told_with_the_numbers(
    expression: str, before: str, said: str
) -> None:
    source = (
        f"import toolrack\n\ndef run():\n    from pathlib import Path; {before}\n    return {expression}\n"
    )
    outcome = called(source, output_bytes_max=20 << 20)
    assert outcome["code"] == "RESULT_TOO_LARGE", outcome
    assert said in outcome["error"]


def test_as_much_as_a_result_may_have() -> None:
    outcome, parts = returned(
        "[toolrack.Image(bytes(8 << 20), 'image/png')] + [toolrack.Image(b'', 'image/gif')] * 2"
    )
    assert outcome["outcome"] == "success"
    assert len(parts) == 2
    assert len(returned("[toolrack.Image(b'x', 'image/png') for _ in range(16)]")[1]) == 16


WRONG = {
    "no bytes": ("Image('text', 'image/png')", "data is a str, and must be bytes"),
    "no type": ("Image(b'')", "missing 1 required positional argument: 'type'"),
    "a type of a text": ("Image(b'<html>', 'text/html')", "text/html is no type of an image"),
    "a type that is none": ("Image(b'', 'png')", "type must be a media type, such as image/png"),
    "a type with a line break": ("Image(b'', 'image/png\\r\\nX: y')", "type must be a media type"),
    "a number as path": ("File(1)", "expected str, bytes or os.PathLike object, not int"),
    "a path of bytes": ("File(b'a')", "path is a bytes, and must be a str or a Path"),
    "a name of 300 characters": ("File('a', 'x' * 300)", "name must be a text of 1 to 255 characters"),
    "a name with a line break": ("File('a', 'a\\nb')", "without line breaks"),
    "no name": ("Image(b'', 'image/png', '')", "name must be a text"),
}


@pytest.mark.parametrize(("expression", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_told_where_it_is_given(expression: str, said: str) -> None:
    outcome, _ = returned(f"toolrack.{expression}")
    assert outcome["code"] == "TOOL_RAISED"
    assert said in outcome["error"]
    assert "toolrack_runner" not in outcome["error"]


BLOCKS: dict[str, tuple[Any, Any, tuple[str, str, str]]] = {
    "a result of MCP": (
        {"content": [{"type": "text", "text": "see"}, BLOCK]},
        {"content": [{"type": "text", "text": "see"}, SHOWN]},
        ("image", "image/png", "image-1.png"),
    ),
    "a list of blocks": ([BLOCK, "x"], [SHOWN, "x"], ("image", "image/png", "image-1.png")),
    "a block": (BLOCK, SHOWN, ("image", "image/png", "image-1.png")),
    "a block with annotations": (
        [BLOCK | {"annotations": {"audience": ["user"]}, "_meta": {}}],
        [SHOWN],
        ("image", "image/png", "image-1.png"),
    ),
    "a sound": (
        [BLOCK | {"type": "audio", "mimeType": "audio/wav"}],
        [{"file": 1, "name": "file-1.wav", "mimeType": "audio/wav", "bytes": len(PNG)}],
        ("file", "audio/wav", "file-1.wav"),
    ),
    "a resource": (
        [
            {
                "type": "resource",
                "resource": {
                    "uri": "file:///a/report.pdf",
                    "mimeType": "application/pdf",
                    "blob": BLOCK["data"],
                },
            }
        ],
        [{"file": 1, "name": "report.pdf", "mimeType": "application/pdf", "bytes": len(PNG)}],
        ("file", "application/pdf", "report.pdf"),
    ),
}


@pytest.mark.parametrize(("value", "shown", "part"), BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_mcp_are_content(value: Any, shown: Any, part: tuple[str, str, str]) -> None:
    outcome, parts = returned(repr(value))
    assert outcome["value"] == shown
    assert outcome["text"].count("iVBO") == 0
    assert parts == [Part(*part, PNG)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        BLOCK | {"data": "https://example.com/a.png"},
        BLOCK | {"data": "A"},
        BLOCK | {"data": ""},
        BLOCK | {"data": None},
        BLOCK | {"mimeType": "png"},
        BLOCK | {"mimeType": "text/html"},
        BLOCK | {"width": 3},
        BLOCK | {"type": "picture"},
        {"type": "resource", "resource": {"uri": "a", "mimeType": "text/plain", "text": "x"}},
        {"type": "resource", "resource": "x", "mimeType": "a/b"},
        {"mimeType": "image/png"},
        '{"type": "image", "mimeType": "image/png"}',
    ],
    ids=str,
)
def test_what_only_looks_like_a_block_stays_as_it_is(value: Any) -> None:
    outcome, parts = returned(repr([value]))
    assert outcome["value"] == [value]
    assert parts == []


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_generator_may_yield_images(kind: str) -> None:
    texts: list[str] = []
    module = loaded(
        f"from toolrack import Image\n\n{kind} run():\n    yield 'a'\n    yield Image({PNG!r}, 'image/png')\n"
    )
    outcome = call_tool(module, "weather:run", {}, {}, output_bytes_max=1_000, send_value=texts.append)
    assert outcome["value"] == ["a", SHOWN]
    assert texts == ['"a"', '{"image":1,"mimeType":"image/png","bytes":8}']
    assert [part.data for part in CONTENT.parts] == [PNG]


def test_a_generator_that_yields_too_many_images_is_closed() -> None:
    outcome = called("""
        from toolrack import Image

        def run():
            try:
                while True:
                    yield Image(b"x", "image/png")
            finally:
                print("closed")
        """)
    assert outcome["error"] == (
        "The result of weather:run has more than the 16 images and files that are allowed; ask for less."
    )


def test_a_fault_of_a_file_that_is_yielded_names_the_value() -> None:
    outcome = called("import toolrack\n\ndef run():\n    yield 1\n    yield toolrack.File('missing')\n")
    assert outcome["error"] == "run(): value 2 has the file 'missing', which does not exist."


def test_the_content_of_one_call_is_not_that_of_the_next() -> None:
    assert len(returned(IMAGE)[1]) == 1
    assert returned("1")[1] == []


def test_no_upload_may_have_the_name_and_an_import_of_it_is_no_missing_package() -> None:
    fault = load_fault("def run():\n    return 1\n", "toolrack")
    assert fault.kind == "module_name_taken"
    assert "the module that the runner gives to tools" in fault.message
    report = checked(f"import toolrack\n\ndef run():\n    return {IMAGE.replace('PNG', repr(PNG))}\n")
    assert report["missingImports"] == []
    assert kinds(report) == []
    assert report["ok"]


def test_an_example_of_a_check_may_return_an_image() -> None:
    report = checked(f"""
        import toolrack

        def run():
            return {IMAGE.replace("PNG", repr(PNG))}

        TOOL_SPECS = [{{"name": "weather:run", "description": "R.", "handler": run,
            "examples": [{{"arguments": {{}}, "result": {SHOWN!r}}}]}}]
        """)
    assert [each["matched"] for tool in report["tools"] for each in tool["examples"]] == [True]


def test_a_module_that_breaks_the_module_breaks_only_its_own_calls() -> None:
    broken = called(
        "import sys, toolrack\ntoolrack.Image = None\n\ndef run():\n    return toolrack.Image(b'')\n"
    )
    assert broken["code"] == "TOOL_RAISED"
