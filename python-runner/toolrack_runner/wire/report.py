"""The report of a check. A child sends it, the server process checks it, and the service reads it.

`check_report.schema.json` has the same shape with its bounds. The server process checks the reports of children with this
schema. `packages/contract/vectors/check-report.json` has test cases for the schema and for the reader of the service.
"""

from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from toolrack_runner.wire.fault import Fault, FaultJson, NoteJson, fault
from toolrack_runner.wire.frames import JsonObject

SCHEMA_FILE = Path(__file__).with_name("check_report.schema.json")

#: `parsed` comes before any code of the module has run, `imported` before any example has run, `loaded` at the end.
Stage = Literal["parsed", "imported", "loaded"]


class SpecReport(TypedDict):
    """One spec. If the spec is not accepted, the fields from `description` on can be missing."""

    name: str | None
    #: The file that contains the spec. Missing if the module is one file.
    file: NotRequired[str]
    line: int | None
    accepted: bool
    faults: list[FaultJson]
    notes: list[NoteJson]
    #: The result of each example that was run.
    examples: list[JsonObject]
    description: NotRequired[str]
    parameters: NotRequired[JsonObject]
    #: The fields that come from the handler: `description`, `parameters`, both or none.
    derived: NotRequired[list[str]]
    annotations: NotRequired[JsonObject | None]
    timeoutSeconds: NotRequired[float | None]
    limits: NotRequired[JsonObject | None]
    secrets: NotRequired[list[str]]
    network: NotRequired[list[str]]
    #: How many calls one process may serve.
    reuse: NotRequired[int | None]
    #: What the service does after a failure, as the spec has it.
    onFailure: NotRequired[JsonObject | None]
    #: How a text is read in each argument (`argument_kinds`). Arguments that get the text as it is sent are left out.
    kinds: NotRequired[dict[str, list[str]]]


class CheckReport(TypedDict):
    """The report on one module. Each stage sends a complete report, so the last one that has arrived is the answer."""

    stage: Stage
    module: str
    #: True if the module loads, and at least one of its specs is accepted.
    ok: bool
    line: NotRequired[int]
    #: The faults of the module as a whole. If there is one, the module has no tools.
    faults: list[FaultJson]
    notes: list[NoteJson]
    imports: list[str]
    #: The packages that the module needs and that are not installed here.
    missingImports: list[str]
    #: Every spec, in the order of TOOL_SPECS.
    tools: list[SpecReport]


def import_hung(file: str, line: int | None, seconds: float) -> Fault:
    """The import did not end in time. `line` is the line that was executed, if it is known."""
    sentence = f"importing the module did not end within {seconds:g} s. Move slow work into a handler."
    return fault("import_hung", file, line, sentence)


def import_crashed(file: str, line: int | None, how: str) -> Fault:
    """The process ended during the import. `how` is for example `signal 11` or `exit status 0`."""
    sentence = f"importing the module ended its process ({how}). Remove the cause (os._exit, a signal, a faulty extension)."
    return fault("import_crashed", file, line, sentence)


def import_too_large(file: str, how: str) -> Fault:
    """The server process has ended the import because it took too much memory. `how` says how much."""
    sentence = f"importing the module was ended: {how}. Load less, and inside a handler."
    return fault("import_memory", file, None, sentence)


def specs_too_large(file: str, bytes_max: int) -> Fault:
    sentence = (
        f"the report on its specs takes more than {bytes_max} bytes. Declare less, or split the module."
    )
    return fault("specs_too_many", file, None, sentence)
