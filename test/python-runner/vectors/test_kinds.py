"""The service's canonical spellings are those of the values that handlers get."""

import base64
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import AnyUrl, StringConstraints

from toolrack_runner.child.module.convert import arguments_adapter
from vectors.cases import Case, cases

TYPES: dict[str, Any] = {
    "path": Path,
    "url": AnyUrl,
    "uuid": UUID,
    "decimal": Decimal,
    "date": dt.date,
    "date-time": dt.datetime,
    "text": str,
}
EDITS: dict[str, Any] = {
    "strip": Annotated[str, StringConstraints(strip_whitespace=True)],
    "lower": Annotated[str, StringConstraints(to_lower=True)],
    "upper": Annotated[str, StringConstraints(to_upper=True)],
    "strip-lower": Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)],
    "strip-upper": Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True)],
    "base64": bytes,
}


def converted(hint: Any, text: str) -> Any:
    """The value that a handler gets; None if the text is refused."""
    try:
        return arguments_adapter({"a": hint}).validator.validate_json(json.dumps({"a": text}), strict=True)[
            "a"
        ]
    except ValueError:
        return None


def spelt(value: Any) -> str:
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize(
    "case", [each for each in cases("kinds") if each.given["kind"] in TYPES], ids=lambda case: case.title
)
def test_a_text_that_a_type_reads_is_the_value_of_its_canonical_spelling(case: Case) -> None:
    hint = TYPES[case.given["kind"]]
    value = converted(hint, case.given["text"])
    if case.expected == "none":
        assert value is None
    if value is None or not isinstance(case.expected, dict):
        return
    canonical = converted(hint, case.expected["text"])
    if isinstance(value, Path):
        assert str(canonical) == case.expected["text"]
    else:
        assert canonical == value


@pytest.mark.parametrize("case", cases("kinds", "edits"), ids=lambda case: case.title)
def test_a_text_that_a_type_edits_is_what_the_service_makes_of_it(case: Case) -> None:
    value = converted(EDITS[case.given["edit"]], case.given["text"])
    if case.expected == "unclear":
        assert value is None
    else:
        assert spelt(value) == case.expected["text"]
