"""Collects the values of a generator. If all are texts, they become one text, otherwise a list."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from json import JSONEncoder
from types import AsyncGeneratorType, GeneratorType
from typing import Any, TypeGuard

from toolrack_runner.child.module.result import result_of
from toolrack_runner.child.module.result_errors import ContentTooLargeError, ResultError, TooManyValuesError
from toolrack_runner.child.module.trusted_names import Names
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.wire.json_depth import VALUES_MAX

#: Takes the JSON text of one value.
SendValue = Callable[[str], None]

_in_quotes = JSONEncoder(ensure_ascii=False).encode
# The original functions are kept, because a module may replace `next` and `anext`.
_next, _close = GeneratorType.__next__, GeneratorType.close
_anext, _aclose = AsyncGeneratorType.__anext__, AsyncGeneratorType.aclose

#: The exceptions of the runner that end a generator.
_REFUSALS = (ResultError, TooManyValuesError, ContentTooLargeError)


class Values:
    """The values that a generator has yielded so far, as JSON data."""

    def __init__(self, bytes_max: int, send: SendValue | None) -> None:
        self.bytes_max = bytes_max
        self._send = send
        self._texts: list[str] = []
        self._values: list[JsonValue] = []
        self._bytes = 0
        self._is_text = True

    def add(self, yielded: object) -> None:
        """Adds a value, and sends it. May run code of the module.

        Raises ResultError, TooManyValuesError and ContentTooLargeError.
        """
        number = len(self._texts) + 1
        if number > VALUES_MAX:
            raise TooManyValuesError(f"{VALUES_MAX:,} values")
        try:
            form = result_of(yielded)
        except ResultError as invalid:
            said = (
                str(invalid).replace("the result", f"value {number}", 1).replace("; return ", "; yield ", 1)
            )
            raise ResultError(said) from None
        text: Any = form["text"]
        # The JSON text of the list of all values has at least as many bytes as these texts together.
        self._bytes += len(text.encode())
        if self._bytes > self.bytes_max:
            raise TooManyValuesError(f"{self.bytes_max} bytes")
        self._is_text = self._is_text and "value" not in form
        json = text if "value" in form else _in_quotes(text)
        self._texts.append(text)
        self._values.append(form.get("value", text))
        if self._send is not None:
            self._send(json)

    def result(self) -> JsonObject:
        """The result of the call, with the same keys as from `result_of`. If there are no values, it is an empty list."""
        if self._is_text and self._texts:
            return {"text": "".join(self._texts)}
        return result_of(self._values)


def is_generator(value: object) -> TypeGuard[Generator[object, None, None]]:
    return issubclass(type(value), GeneratorType)


def is_async_generator(value: object) -> TypeGuard[AsyncGenerator[object, None]]:
    return issubclass(type(value), AsyncGeneratorType)


def drain(generator: Any, values: Values, names: Names) -> Values:
    """Adds every value of a generator. If one cannot be added, closes the generator, which runs its `finally` blocks."""
    try:
        while True:
            try:
                yielded = names.run(lambda: _next(generator))
            except StopIteration:
                return values
            names.keep(lambda: values.add(yielded))  # noqa: B023 - called at once
    except _REFUSALS:
        with suppress(BaseException):  # The generator may catch GeneratorExit, or raise in a `finally` block.
            names.run(lambda: _close(generator))
        raise


async def drain_async(generator: Any, values: Values) -> Values:
    """Like `drain`, but for an async generator. The names of the runner are not restored between the values."""
    try:
        while True:
            try:
                yielded = await _anext(generator)
            except StopAsyncIteration:
                return values
            values.add(yielded)
    except _REFUSALS:
        with suppress(BaseException):  # For the same reason as in `drain`.
            await _aclose(generator)
        raise
