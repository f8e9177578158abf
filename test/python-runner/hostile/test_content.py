"""Whatever a module says about images and files harms nobody but its own call, and costs no more than the limits say."""

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from hostile.resident import resident_bytes, resident_bytes_max
from hostile.uploads import HONEST, upload
from hostile.watched_runner import WHO, watched_runner
from support.live_runner import LiveRunner

#: Parts and pieces as the runner's own code in the child writes them.
SAYS = """
import base64

PIECE = 192 << 10


def part(size, name="a.png", kind="image", media_type="image/png"):
    return frame({"content": {"type": kind, "mimeType": media_type, "name": name, "bytes": size}})


def piece(data):
    return frame({"piece": base64.b64encode(data).decode()})


def whole(size):
    data = b"x" * size
    return part(size) + b"".join(piece(data[at : at + PIECE]) for at in range(0, size, PIECE))


ANSWER = frame({"answer": {"text": "forged"}})
"""


def attack(body: str) -> str:
    """A module whose tool does this."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return upload(f"{SAYS}\n\ndef attack():\n{lines}\n    time.sleep(9)", "attack")


def answered(live: LiveRunner, source: str, **more: Any) -> dict[str, Any]:
    """What a call of `attack` answers. The next call of somebody else is answered too."""
    answer = live.invoke(source, "hostile:attack", **more)
    assert live.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"
    return answer


NO_RESULT = {
    "a piece of nothing": "write(piece(b'x') + ANSWER)",
    "an answer before the last byte": "write(part(2) + piece(b'xx')[:0] + ANSWER)",
    "a part before the end of the one before": "write(part(2) + part(1) + piece(b'x') + ANSWER)",
    "more bytes than were announced": "write(part(1) + piece(b'xx') + ANSWER)",
    "fewer bytes than were announced": "write(part(2) + piece(b'x') + ANSWER)",
    "a short piece that is not the last": "write(part(PIECE + 1) + piece(b'x') + ANSWER)",
    "a large piece": "write(part(PIECE * 2) + piece(b'x' * PIECE * 2) + ANSWER)",
    "no base64": "write(part(3) + frame({'piece': 'A A='}) + ANSWER)",
    "JSON in a piece": 'write(part(6) + frame({"piece": \'"},{"a\'}) + ANSWER)',
    "content after the answer": "write(ANSWER + whole(1))",
    "a part after the answer": "write(ANSWER + part(0))",
    "a kind of its own": "write(part(0, kind='audio') + ANSWER)",
    "an image that is a page": "write(part(0, media_type='text/html') + ANSWER)",
    "a header in the type": "write(part(0, kind='file', media_type='a/b\\r\\nX: y') + ANSWER)",
    "no media type": "write(part(0, kind='file', media_type='') + ANSWER)",
    "a long name": "write(part(0, name='x' * 256) + ANSWER)",
    "a name with a line break": "write(part(0, name='a\\nb') + ANSWER)",
    "a name that is no text": "write(part(0, name=['a']) + ANSWER)",
    "fewer bytes than none": "write(part(-1) + ANSWER)",
    "bytes that are true": "write(part(True) + ANSWER)",
    "a terabyte": "write(part(1 << 40) + ANSWER)",
    "pieces without end": "write(part(8 << 20))\nwhile True: write(frame({'piece': ''}))",
}


@pytest.mark.parametrize("body", NO_RESULT.values(), ids=NO_RESULT)
def test_what_is_no_content_is_the_tool_s_failure(any_runner: LiveRunner, body: str) -> None:
    source = attack(body)
    for _ in range(2):  # Cold, and from a child that waited.
        answer = answered(any_runner, source)
        assert answer["code"] == "RESULT_INVALID", answer
        assert "content" not in answer


@pytest.mark.parametrize("moment", ["at the import", "before the call"])
def test_content_before_the_call_is_the_module_s_failure(any_runner: LiveRunner, moment: str) -> None:
    said = "write(whole(1))" if moment == "at the import" else "later(0.05, lambda: write(whole(1)))"
    source = upload(f"{SAYS}\n{said}\n\n\ndef attack():\n    time.sleep(0.3)\n    return 'x'", "attack")
    codes = [any_runner.invoke(source, "hostile:attack", tenant=moment).get("code") for _ in range(3)]
    if moment == "at the import":
        assert codes == ["RESULT_INVALID"] * 3
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"


def test_content_in_a_check_is_the_module_s_fault(any_runner: LiveRunner) -> None:
    source = upload(f"{SAYS}\nwrite(whole(1))\ntime.sleep(9)")
    report = any_runner.check("hostile", source)
    assert not report["ok"]
    assert "it wrote to the channel of the report" in report["faults"][0]["message"]


def test_forged_content_that_is_whole_is_the_content_of_that_call_alone(any_runner: LiveRunner) -> None:
    answer = answered(any_runner, attack("write(whole(200_000) + part(0, name='ü') + ANSWER)"))
    assert answer["text"] == "forged"
    assert [(each["name"], each["data"]) for each in answer["content"]] == [
        ("a.png", b64encode(b"x" * 200_000).decode()),
        ("ü", ""),
    ]
    assert "content" not in any_runner.invoke(HONEST, "hostile:hello")


def test_a_failure_has_no_content(any_runner: LiveRunner) -> None:
    failure = "frame({'answer': {'code': 'TOOL_RAISED', 'error': 'no'}})"
    answer = answered(any_runner, attack(f"write(whole(9) + {failure})"))
    assert answer["code"] == "TOOL_RAISED"
    assert "content" not in answer


TOO_MUCH = {
    "too many parts": "write(part(0) * 17 + ANSWER)",
    "too many bytes": "write(whole(8 << 20) + part(1))",
    "a second part that is too large": "write(whole(1) + part(8 << 20))",
    "parts without end": "while True: write(part(0) * 1_000)",
}


@pytest.mark.parametrize("body", TOO_MUCH.values(), ids=TOO_MUCH)
def test_more_than_a_result_may_have_is_told_so(any_runner: LiveRunner, body: str) -> None:
    answer = answered(any_runner, attack(body), limits={"outputBytes": 256 << 10})
    assert answer["code"] == "RESULT_TOO_LARGE", answer
    assert "images and files that are allowed" in answer["error"]


def test_content_without_an_answer_ends_at_the_deadline_and_is_not_kept(any_runner: LiveRunner) -> None:
    any_runner.invoke(HONEST, "hostile:hello")
    before = resident_bytes(any_runner.process.pid)
    source = attack("write(whole(8 << 20))")
    for _ in range(4):
        answer = answered(any_runner, source, deadlineMs=700, limits={"outputBytes": 256 << 10})
        assert answer["code"] == "DEADLINE_EXCEEDED", answer
    assert resident_bytes(any_runner.process.pid) - before < 48 << 20
    assert resident_bytes_max(any_runner.process.pid) < 256 << 20


READS = """
import toolrack


def attack(how: str):
    folder = os.getcwd()
    if how == "a FIFO":
        os.mkfifo("x")
    elif how == "a link to a file of the system":
        os.symlink("/etc/passwd", "x")
    elif how == "a link to memory":
        os.symlink("/proc/self/mem", "x")
    elif how == "a folder that is a link":
        os.symlink("/proc/self", "folder")
        return toolrack.File("folder/environ")
    elif how == "a device":
        return toolrack.File("/dev/zero")
    elif how == "a file of the kernel":
        return toolrack.File("/proc/self/environ")
    elif how == "a file above":
        return toolrack.File("../../../../etc/passwd")
    return toolrack.File("x")
"""
NO_FILES = {
    "a FIFO": "which is a FIFO",
    "a link to a file of the system": "which is a link",
    "a link to memory": "which is a link",
    "a folder that is a link": "which is not in the working folder",
    "a device": "which is not in the working folder",
    "a file of the kernel": "which is not in the working folder",
    "a file above": "which is not in the working folder",
}


@pytest.mark.parametrize(("how", "said"), NO_FILES.items(), ids=NO_FILES)
def test_only_regular_files_of_the_working_folder_are_read(
    any_runner: LiveRunner, how: str, said: str
) -> None:
    answer = any_runner.invoke(upload(READS, "attack"), "hostile:attack", {"how": how})
    if answer["code"] == "TOOL_RAISED":
        # The jail makes no links and no FIFOs.
        assert re.search(r"os.(symlink|mkfifo)", answer["error"]), answer
        return
    assert answer["code"] == "RESULT_INVALID", answer
    assert said in answer["error"]


@pytest.fixture(scope="module", params=WHO)
def open_runner(request: pytest.FixtureRequest, canary: str) -> Iterator[LiveRunner]:
    """A runner whose jail lets a tool make links and FIFOs."""
    without = ("--without=seccomp", "--without=landlock")
    with watched_runner(request.param, canary, *without, TOOLRACK_RUNNER_MIN_ISOLATION="L0") as live:
        yield live


@pytest.mark.parametrize(("how", "said"), NO_FILES.items(), ids=NO_FILES)
def test_without_these_layers_of_the_jail_only_regular_files_are_read_too(
    open_runner: LiveRunner, how: str, said: str
) -> None:
    answer = open_runner.invoke(upload(READS, "attack"), "hostile:attack", {"how": how})
    assert answer["code"] == "RESULT_INVALID", answer
    assert said in answer["error"]


GROWS = """
import toolrack


def attack():
    with open("log", "wb") as file:
        file.write(b"x" * 1_000_000)
    held = open("log", "ab", buffering=0)

    def grow():
        for _ in range(200):
            held.write(b"y" * 5_000)
    threads = [threading.Thread(target=grow) for _ in range(2)]
    for thread in threads:
        thread.start()
    made = [toolrack.File("log") for _ in range(2)]
    return made
"""


def test_a_file_that_grows_meanwhile_has_as_many_bytes_as_the_result_says(any_runner: LiveRunner) -> None:
    answer = any_runner.invoke(upload(GROWS, "attack"), "hostile:attack")
    sizes = [len(each["data"]) * 3 // 4 - each["data"].count("=") for each in answer["content"]]
    assert [each["bytes"] for each in answer["value"]] == sizes
    assert all(size >= 1_000_000 for size in sizes)


BREAKS = {
    "the classes": "import toolrack\ntoolrack.Image.__init__ = lambda *_: None\nmade = toolrack.Image()",
    "the module": "import toolrack\nmade = toolrack.Image(b'x', 'image/png')\ndel sys.modules['toolrack']",
    "the data": "import toolrack\nmade = toolrack.Image(b'x', 'image/png')\nmade.data = 'no bytes'",
    "the type": "import toolrack\nmade = toolrack.Image(b'x', 'image/png')\nmade.type = 'a/b\\r\\nX: y'",
    "the name": "import toolrack\nmade = toolrack.Image(b'x', 'image/png')\nmade.name = 'n' * 1_000_000",
    "the path": "import toolrack\nmade = toolrack.File('x')\nmade.path = 1",
    "the content": (
        "import toolrack, toolrack_runner.child.module.content as c\nc.CONTENT.parts.append(1)\n"
        "made = toolrack.Image(b'x', 'image/png')"
    ),
    "the writer": (
        "import toolrack, toolrack_runner.child.call_channel as c\nc.CallChannel._write_part = None\n"
        "made = toolrack.Image(b'x', 'image/png')"
    ),
}


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_what_breaks_the_runner_s_own_code_in_the_child_breaks_only_its_call(
    any_runner: LiveRunner, breaks: str
) -> None:
    lines = "\n".join(f"    {line}" for line in breaks.splitlines())
    source = upload(f"def attack():\n{lines}\n    return [made]", "attack")
    for _ in range(2):
        answer = any_runner.invoke(source, "hostile:attack", deadlineMs=20_000)
        if answer["outcome"] == "success":
            assert [each["data"] for each in answer.get("content", [])] in (["eA=="], [])
        assert any_runner.invoke(HONEST, "hostile:hello", tenant="other")["text"] == "hello"


LEAVES = """
import toolrack

if not os.path.lexists(".attached"):
    {leaves}


def attack(path: str):
    with open(path) as file:
        return file.read()
"""


@pytest.mark.parametrize(
    "leaves",
    ["os.mkdir('.attached')", "open('.attached', 'w')"],
)
def test_what_a_module_leaves_where_files_of_arguments_go_fails_its_own_call(
    any_runner: LiveRunner, leaves: str
) -> None:
    attached = [{"pointer": "/path", "name": "a.txt", "data": b64encode(b"secret").decode()}]
    source = upload(LEAVES.format(leaves=leaves), "attack")
    answer = any_runner.invoke(source, "hostile:attack", {"path": "x"}, attached=attached)
    assert answer["code"] == "TOOL_CRASHED", answer
    assert "could not be written into its working folder (File exists)" in answer["error"]


def test_files_of_one_user_are_never_seen_by_another(any_runner: LiveRunner) -> None:
    source = upload(
        """
def attack(path: str):
    found = []
    for above, _, names in os.walk(os.getcwd()):
        found += [open(os.path.join(above, name)).read() for name in names]
    return found
""",
        "attack",
    )
    for number in range(4):
        attached = [{"pointer": "/path", "name": "a", "data": b64encode(b"of %d" % number).decode()}]
        answer = any_runner.invoke(
            source, "hostile:attack", {"path": "x"}, attached=attached, tenant=f"user {number % 2}"
        )
        assert answer["value"] == [f"of {number}"]
