"""The libraries that the runner's own code imports in a child."""

from typing import Final

#: The top-level names that `import pydantic` imports, beside the standard library.
OF_PYDANTIC: Final = (
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
    "annotated_types",
)
