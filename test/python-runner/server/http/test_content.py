"""Images and files from the jail to the answer, and files for arguments into the jail, over HTTP and in frames."""

import asyncio
import hashlib
import json
import secrets
from base64 import b64decode, b64encode
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from hostile.uploads import upload
from support.frames import call as call_frame
from support.frames import connected, hear, hello
from support.live_runner import LiveRunner, invocation
from toolrack_runner.server.http import runner as runners
from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.pool.fair_queue import FairQueue, Shares

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1_200
TOOLS = f"""
import toolrack

PNG = {PNG[:8]!r} + bytes(range(256)) * 1_200


def chart():
    return {{"title": "a", "chart": toolrack.Image(PNG, "image/png")}}


def files(text: str = "a,b", names: list = ["a.csv"]):
    made = []
    for name in names:
        with open(name, "w") as file:
            file.write(text)
        made.append(toolrack.File(name))
    return made


def sparse(size: int):
    with open("large.bin", "wb") as file:
        file.truncate(size)
    return toolrack.File("large.bin")


def page():
    return toolrack.Image(b"<html><script>alert(1)</script>", "image/png")


def later():
    yield "a"
    print("shown")
    yield toolrack.Image(b"x", "image/gif")


def read(path: str, other: str = ""):
    import os
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        first = file.read(8)
    listed = sorted(os.listdir())
    return {{"path": path, "size": size, "first": first, "listed": listed, "other": other and open(other).read()}}
"""
SOURCE = upload(TOOLS, "chart", "files", "sparse", "page", "later", "read")


def content(answer: dict[str, Any]) -> list[tuple[str, str, str, bytes]]:
    """The images and files of an answer."""
    return [
        (each["type"], each["mimeType"], each["name"], b64decode(each["data"], validate=True))
        for each in answer["content"]
    ]


def file(pointer: str, name: str, data: bytes) -> dict[str, str]:
    """A file for an argument."""
    return {"pointer": pointer, "name": name, "data": b64encode(data).decode()}


@pytest.mark.parametrize("reuse", [1, 9])
def test_an_image_comes_beside_the_result(any_runner: LiveRunner, reuse: int) -> None:
    for _ in range(3):  # Cold, from a child that waited, and from one that is used again.
        answer = any_runner.invoke(SOURCE, "hostile:chart", reuse=reuse, tenant="charts")
        shown = {"image": 1, "mimeType": "image/png", "bytes": len(PNG)}
        assert answer["value"] == {"title": "a", "chart": shown}
        assert content(answer) == [("image", "image/png", "image-1.png", PNG)]


def test_an_answer_without_images_has_no_such_field(any_runner: LiveRunner) -> None:
    assert "content" not in any_runner.invoke(SOURCE, "hostile:hello")


def test_an_image_comes_in_a_frame_too(any_runner: LiveRunner) -> None:
    with connected(any_runner) as connection:
        connection.sendall(hello(any_runner.secret))
        connection.sendall(call_frame(invocation(SOURCE, "hostile:chart")))
        heard = hear(connection)
        assert heard is not None
        assert content(heard.json) == [("image", "image/png", "image-1.png", PNG)]


def test_the_outcome_of_a_stream_has_the_image_of_a_generator(any_runner: LiveRunner) -> None:
    body = invocation(SOURCE, "hostile:later", stream=True)
    answer = any_runner.client.post("/invoke", json=body, headers={"Accept": "application/x-ndjson"})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    shown = {"image": 1, "mimeType": "image/gif", "bytes": 1}
    assert [each["value"] for each in lines if each["event"] == "value"] == ["a", shown]
    assert lines[-1]["value"] == ["a", shown]
    assert content(lines[-1]) == [("image", "image/gif", "image-1.gif", b"x")]


def test_files_of_a_working_folder_with_and_without_bytes(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(SOURCE, "hostile:files", {"names": ["a.csv", "ü b.txt"]})
    assert content(answer) == [
        ("file", "text/csv", "a.csv", b"a,b"),
        ("file", "text/plain", "ü b.txt", b"a,b"),
    ]
    empty = any_runner.invoke(SOURCE, "hostile:files", {"text": ""})
    assert content(empty) == [("file", "text/csv", "a.csv", b"")]


def test_an_image_that_is_html_is_passed_on_as_the_type_it_says(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(SOURCE, "hostile:page")
    assert content(answer) == [("image", "image/png", "image-1.png", b"<html><script>alert(1)</script>")]


def test_as_many_bytes_as_are_allowed_and_no_more(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(SOURCE, "hostile:sparse", {"size": 8 << 20})
    assert content(answer) == [("file", "application/octet-stream", "large.bin", bytes(8 << 20))]
    for size in ((8 << 20) + 1, 1 << 30):
        large = any_runner.invoke(SOURCE, "hostile:sparse", {"size": size}, limits={"fileBytes": 1 << 30})
        assert large["code"] == "RESULT_TOO_LARGE"
        assert large["error"] == (
            f"The result of hostile:sparse has the file 'large.bin' of {size} bytes, "
            "and 8388608 bytes of images and files are allowed; ask for less."
        )
        assert "content" not in large


@pytest.mark.parametrize("reuse", [1, 9])
def test_a_file_for_an_argument_is_in_the_working_folder_and_gone_after_the_call(
    any_runner: LiveRunner, reuse: int
) -> None:
    for number in range(3):
        data = bytes([number]) * 300_000
        more = {"reuse": reuse, "tenant": f"readers {reuse}", "attached": [file("/path", "t é/.csv", data)]}
        answer = any_runner.invoke(SOURCE, "hostile:read", {"path": "art_1"}, **more)
        value = answer["value"]
        assert value["size"] == len(data)
        assert b64decode(value["first"]) == data[:8]
        assert value["path"].endswith("/.attached/1/t é_.csv")
        assert value["listed"] == [".attached", ".cache"]


def test_a_name_of_300_characters_is_shortened_for_a_tool_and_refused_from_one(
    any_runner: LiveRunner,
) -> None:
    attached = [file("/path", "é" * 300 + ".csv", b"12345678")]
    value = any_runner.invoke(SOURCE, "hostile:read", {"path": "a"}, attached=attached)["value"]
    assert b64decode(value["first"]) == b"12345678"
    name = value["path"].rpartition("/")[2]
    assert name == "é" * 98 + ".csv"
    source = upload("import toolrack\n\n\ndef long():\n    return toolrack.File('x' * 300)", "long")
    answer = any_runner.invoke(source, "hostile:long")
    assert answer["code"] == "RESULT_INVALID"
    assert "which can't be read (File name too long)" in answer["error"]


def test_two_files_and_an_argument_that_is_none(any_runner: LiveRunner) -> None:
    attached = [file("/path", "x", b"12345678"), file("/other", "x", b"other")]
    answer = any_runner.invoke(SOURCE, "hostile:read", {"path": "", "other": ""}, attached=attached)
    assert answer["value"]["other"] == "other"
    assert any_runner.invoke(SOURCE, "hostile:read", {"path": "/dev/null"})["value"]["size"] == 0


def test_files_of_8_mb_come_in_a_frame_and_over_http(any_runner: LiveRunner) -> None:
    body = invocation(
        SOURCE, "hostile:read", {"path": "a"}, attached=[file("/path", "a.bin", bytes(8 << 20))]
    )
    answer = any_runner.client.post("/invoke", json=body)
    assert answer.json()["value"]["size"] == 8 << 20, answer.text[:500]
    with connected(any_runner) as connection:
        connection.sendall(hello(any_runner.secret))
        connection.sendall(call_frame(body))
        heard = hear(connection)
        assert heard is not None
        assert heard.json["value"]["size"] == 8 << 20


def test_files_that_do_not_fit_into_the_limits_of_the_call_are_a_failure_of_its_limits(
    any_runner: LiveRunner,
) -> None:
    attached = [file("/path", "a.bin", bytes(2 << 20))]
    answer = any_runner.invoke(
        SOURCE, "hostile:read", {"path": "a"}, attached=attached, limits={"fileBytes": 1 << 20}
    )
    assert answer["code"] == "DISK_LIMIT"
    assert answer["error"] == (
        "The tool was not called: the files for its arguments could not be written into its working folder "
        "(File too large)."
    )


@pytest.mark.parametrize("reuse", [1, 9])
def test_files_that_do_not_fit_into_the_memory_of_the_call_are_a_failure_of_its_limits(
    any_runner: LiveRunner, reuse: int
) -> None:
    more: dict[str, Any] = {"limits": {"memoryBytes": 8 << 20}, "reuse": reuse, "tenant": f"small {reuse}"}
    assert any_runner.invoke(SOURCE, "hostile:hello", **more)["text"] == "hello"
    attached = [file("/path", "a.bin", bytes(8 << 20))]
    answer = any_runner.invoke(SOURCE, "hostile:read", {"path": "a"}, attached=attached, **more)
    assert answer["code"] == "MEMORY_LIMIT", answer
    assert any_runner.invoke(SOURCE, "hostile:hello", **more)["text"] == "hello"


REFUSED: dict[str, Any] = {
    "no list": {},
    "too many": [file("/path", "a", b"")] * 17,
    "no file": ["a"],
    "another field": [file("/path", "a", b"") | {"path": "/etc/passwd"}],
    "no name": [file("/path", "", b"")],
    "a name without end": [file("/path", "a" * 600, b"")],
    "no base64": [{"pointer": "/path", "name": "a", "data": "a b"}],
    "no data": [{"pointer": "/path", "name": "a"}],
    "a pointer to nothing": [file("/missing", "a", b"")],
    "a pointer to a number": [file("/number", "a", b"")],
    "a pointer to all": [file("", "a", b"")],
    "no pointer": [file("path", "a", b"")],
    "a place behind the last": [file("/list/1", "a", b"")],
    "a place with a zero": [file("/list/00", "a", b"")],
    "one argument twice": [file("/path", "a", b"")] * 2,
    "too many bytes": [file("/path", "a", bytes(8 << 20)), file("/list/0", "a", b"x")],
}


@pytest.mark.parametrize("attached", REFUSED.values(), ids=REFUSED)
def test_files_that_fit_no_argument_are_refused(runner: LiveRunner, attached: Any) -> None:
    arguments = {"path": "a", "number": 1, "list": ["a"]}
    body = invocation(SOURCE, "hostile:read", arguments, attached=attached)
    answer = runner.client.post("/invoke", json=body)
    assert answer.status_code == 400, answer.text
    assert "BODY_INVALID" in answer.text


@pytest.mark.parametrize("way", ["over HTTP", "in a frame"])
def test_a_body_above_its_limit_is_refused(runner: LiveRunner, way: str) -> None:
    body = invocation(SOURCE, "hostile:read", {"path": "a" * (12 << 20)})
    if way == "over HTTP":
        answer = runner.client.post("/invoke", json=body)
        assert answer.status_code == 413, answer.text
        assert "more than 12582912 bytes" in answer.text
        assert "more than 4194304 bytes" in runner.client.post("/check", json=body).text
        return
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret))
        head = call_frame(body)[:5]
        connection.sendall(head)
        heard = hear(connection)
        assert heard is not None
        assert heard.status == 413


def test_a_text_of_4_mb_comes_if_it_is_asked_for(runner: LiveRunner) -> None:
    source = upload("def text(sign: str, count: int):\n    return sign * count", "text")
    for sign in ("a", '"', "é"):
        count = (4 << 20) // len(sign.encode())
        limits = {"outputBytes": 4 << 20}
        answer = runner.invoke(source, "hostile:text", {"sign": sign, "count": count}, limits=limits)
        assert answer["text"] == sign * count
        large = runner.invoke(source, "hostile:text", {"sign": sign, "count": count + 1}, limits=limits)
        assert large["code"] == "RESULT_TOO_LARGE"


def test_a_package_of_the_name_and_a_file_of_the_module_change_nothing(any_runner: LiveRunner) -> None:
    files = {
        "__init__.py": (
            "from . import toolrack as own\nimport toolrack\n\n\ndef run():\n"
            "    return [own.Image, toolrack.Image(b'x', 'image/png')]\n\n\n"
            "TOOL_SPECS = [{'name': 'own:run', 'description': 'Runs.', 'handler': run}]\n"
        ),
        "toolrack.py": "Image = 'of the module'\n",
    }
    listed = [
        {"path": path, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for path, text in sorted(files.items())
    ]
    sha256 = hashlib.sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()
    body: dict[str, Any] = {
        "module": "own",
        "sha256": sha256,
        "tool": "own:run",
        "arguments": {},
        "tenant": "test",
        "invocationId": secrets.token_hex(8),
        "files": files,
    }
    answer = any_runner.client.post("/invoke", json=body).json()
    assert answer["value"][0] == "of the module", answer
    assert content(answer) == [("image", "image/png", "image-1.png", b"x")]


def test_the_files_of_all_calls_together_are_bounded_and_no_user_takes_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runners, "ATTACHED_BYTES_MAX", 40)

    async def place_all(*, is_for_one_user: bool) -> list[str]:
        settings: Any = SimpleNamespace(is_for_one_user=is_for_one_user)
        nothing: Any = None
        calls = FairQueue(
            Shares(places=99, places_per_user=99, waiting_per_user=99, waiting_max=99),
            asyncio.get_running_loop(),
        )
        one = Runner(settings, nothing, calls, calls, nothing)
        said: list[str] = []
        for _ in range(2):  # What a call has taken is given back.
            async with AsyncExitStack() as stack:
                for tenant, count in (
                    ("ann", 12),
                    ("ann", 8),
                    ("ann", 1),
                    ("ann", 0),
                    ("bob", 20),
                    ("eve", 1),
                ):
                    files = [{"data": "x" * count}] if count else []
                    try:
                        await stack.enter_async_context(one.place(calls, tenant, "calls", files))
                    except HttpError as refused:
                        said.append(f"{tenant} {count}: {refused.code} {refused.retry_after_seconds}")
        assert not one._attached
        return said

    refused = ["ann 1: RUNNER_BUSY 1", "eve 1: RUNNER_BUSY 1"]
    assert asyncio.run(place_all(is_for_one_user=False)) == refused * 2
    assert asyncio.run(place_all(is_for_one_user=True)) == ["bob 20: RUNNER_BUSY 1"] * 2
