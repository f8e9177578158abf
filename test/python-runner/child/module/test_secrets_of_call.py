"""No part of a secret is in a text that the runner has shortened."""

from base64 import b64encode
from collections.abc import Iterator
from random import Random
from textwrap import dedent

import pytest

from child.module.tools import called
from toolrack_runner.child.module.secrets_of_call import know_secrets, shortened, without_beginning

BODY = b64encode(Random(3).randbytes(2_300)).decode()
KEY = "\n".join(
    ["-----BEGIN KEY-----", *(BODY[at : at + 64] for at in range(0, len(BODY), 64)), "-----END KEY-----", ""]
)
LONG = BODY[::-1]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    know_secrets(None)


def revealed(text: str, secret: str) -> list[str]:
    """The parts of 12 characters of the secret that the text has."""
    parts = (secret[at : at + 12] for at in range(0, len(secret) - 12, 4))
    return [part for part in parts if part in text or repr(part)[1:-1] in text]


def said(code: str, secret: str) -> str:
    source = "def run(context: dict) -> object:\n    s = context['secrets']['K']\n"
    outcome = called(
        source + "".join(f"    {line}\n" for line in dedent(code).split("\n")),
        context={"secrets": {"K": secret}},
    )
    error: str = outcome["error"]
    return error


@pytest.mark.parametrize("secret", [KEY, LONG], ids=["of lines", "of one line"])
@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError(s)",
        "raise ValueError('bad key: ' + s)",
        "raise KeyError(s)",
        "{}[s]",
        "assert 0, s",
        "open(s)",
        "int(s)",
        "raise ValueError('a') from RuntimeError(s)",
        "raise ValueError(context)",
        "raise ExceptionGroup('g' + s, [ValueError(s)])",
        "e = ValueError('a'); e.add_note(s * 2); raise e",
        "raise ValueError('x' * 480 + s + 'y' * 3_000)",
        "raise ValueError((s + '-') * 9)",
        "raise type(s.replace(chr(0), ''), (Exception,), {})('x')",
        "return {s: object()}",
        "return type(s, (), {})()",
        "__import__('codecs').lookup(s.replace(chr(10), ''))",
    ],
)
def test_a_long_secret_is_removed_before_an_error_is_cut(code: str, secret: str) -> None:
    error = said(code, secret)
    # The service removes what was not cut.
    assert revealed(error.replace(secret, "").replace(repr(secret)[1:-1], ""), secret) == []


def test_a_text_that_is_not_cut_stays_as_it_is_for_the_service() -> None:
    assert said("raise ValueError(f'so {s}!')", "the secret of ann").endswith("so the secret of ann!")


def test_a_cut_leaves_no_beginning_of_a_secret() -> None:
    know_secrets({"K": LONG})
    assert shortened("x" * 50 + LONG, 64) == "x" * 50 + "[redacted]"
    assert shortened("x" * 50 + LONG[:40], 70, "…") == "x" * 50 + "[redacted]…"
    assert without_beginning("x" + LONG[:15]) == "x" + LONG[:15]
    assert shortened("x" * 80, 64, "…") == "x" * 64 + "…"
