"""The traceback of an exception, for the author of the module. It shows lines of the module, and no line of the runner."""

from collections.abc import Iterator
from itertools import groupby
from types import TracebackType

from toolrack_runner.child.module.facts import (
    cause_of,
    chain,
    class_name,
    members_of,
    syntax_place,
    traceback_of,
)
from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.meant_name import meant_name
from toolrack_runner.child.module.secrets_of_call import shortened, without_beginning, without_secrets
from toolrack_runner.limits import ERROR_CHARS_MAX

#: How many members of an exception group are shown, so that the traceback stays short.
_GROUP_MAX = 8
#: How many levels of groups in groups are shown, so that the traceback stays short.
_GROUP_DEPTH_MAX = 3
#: How many frames of a deep call stack are shown: the first 15 and the last 15.
_FRAMES_MAX = 30
_REPEATS_SHOWN = 3
#: How many characters of an exception's message are shown. Its middle is left out, so that there is room for the lines of
#: code.
_MESSAGE_CHARS_MAX = 2_000
#: How many characters of a line of code are shown.
_LINE_CHARS_MAX = 200
_CAUSE = "The exception above was the direct cause of the one below:"
_CONTEXT = "While the exception above was handled, the one below came up:"


def user_traceback(error: BaseException, files: ModuleFiles) -> str:
    """The traceback of an exception and of the exceptions that led to it. Never raises, whatever the exceptions do."""
    parts: list[str] = []
    for position, link in enumerate(reversed(chain(error))):
        if position:
            parts.extend(["", _CAUSE if cause_of(link) is not None else _CONTEXT, ""])
        parts.extend(_rendered(link, files, "", 0))
    return cut_middle("\n".join(parts), ERROR_CHARS_MAX)


def user_place(error: BaseException, files: ModuleFiles) -> tuple[str, int] | tuple[str, None]:
    """The file and the line of the module's innermost frame. If no frame is in the module, the main file and None."""
    found = syntax_place(error, files.texts)
    for filename, line, _ in frames(traceback_of(error)) if found is None else ():
        if filename in files.texts:
            found = filename, line
    return found or (files.main, None)


def frames(traceback: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    """The file, line and function of each frame, the outermost first."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield code.co_filename, traceback.tb_lineno or code.co_firstlineno, code.co_name
        traceback = traceback.tb_next


def exception_line(error: BaseException) -> str:
    """The last line of a traceback, such as `KeyError: 'Bern'`."""
    kind = type(error)
    try:
        module, name = kind.__module__, kind.__qualname__
        title = name if module == "builtins" else f"{module}.{name}"
        title = shortened(str.__str__(title), 200)
    except BaseException:  # noqa: BLE001 - a metaclass may raise anything
        title = "an exception whose class can't be named"
    said = _text(error)
    return f"{title}: {said}{meant_name(error)}" if said else title


def cut_middle(text: str, chars_max: int) -> str:
    """The text. If it is too long, its middle is left out, because its beginning and its end are the most useful parts.

    The service recognises the mark by its letters (`functions/src/redaction/stored-secrets.ts`).
    """
    if len(text) <= chars_max:
        return text
    text = without_secrets(text)
    if len(text) <= chars_max:
        return text
    head = chars_max // 4
    tail = chars_max - head
    return f"{text[:head]}\n… {len(text) - chars_max:,} characters left out …\n{text[-tail:]}"


def _rendered(error: BaseException, files: ModuleFiles, indent: str, depth: int) -> Iterator[str]:
    shown = [found for found in frames(traceback_of(error)) if found[0] in files.texts]
    if shown:
        yield f"{indent}Traceback (most recent call last):"
    for text in (*_frame_lines(shown, files), *exception_line(error).split("\n"), *_notes(error)):
        yield indent + text
    members = members_of(error) if depth < _GROUP_DEPTH_MAX else ()
    for number, member in enumerate(members[:_GROUP_MAX], start=1):
        yield f"{indent}  exception {number} of {len(members)}:"
        yield from _rendered(member, files, indent + "    ", depth + 1)


def _frame_lines(shown: list[tuple[str, int, str]], files: ModuleFiles) -> list[str]:
    collapsed: list[str] = []
    for (file, line, name), same in groupby(shown):
        count = len(list(same))
        source = files.line(file, line).strip()[:_LINE_CHARS_MAX]
        text = f'  File "{file}", line {line}, in {name}' + (f"\n    {source}" if source else "")
        collapsed += [text] * min(count, _REPEATS_SHOWN)
        if count > _REPEATS_SHOWN:
            collapsed.append(f"  [the same line {count - _REPEATS_SHOWN:,} times more]")
    if len(collapsed) > _FRAMES_MAX:
        half = _FRAMES_MAX // 2
        collapsed[half:-half] = [f"  [{len(collapsed) - 2 * half:,} frames more]"]
    return collapsed


def _text(error: BaseException) -> str:
    try:
        return cut_middle(without_beginning(str.__str__(str(error))), _MESSAGE_CHARS_MAX)
    except BaseException as failed:  # noqa: BLE001 - __str__ may raise anything
        return f"<its text can't be read: __str__ raised {class_name(type(failed))}>"


def _notes(error: BaseException) -> list[str]:
    try:
        return [cut_middle(str(each), _MESSAGE_CHARS_MAX) for each in list(error.__notes__)[:5]]
    except BaseException:  # noqa: BLE001 - `__notes__` may raise anything
        return []
