"""What a docstring tells the model: what the tool does and what each argument is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Docstring:
    """The prose of a docstring, and the description of each argument that it describes."""

    description: str
    arguments: dict[str, str]


def read_docstring(text: str) -> Docstring:
    """Reads Google, NumPy, reST and epydoc style; what is in none of them is all description."""
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Docstring(text.strip(), {})
    parts = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    arguments = {each.arg_name: each.description.strip() for each in parsed.params if each.description}
    return Docstring("\n\n".join(parts), arguments)
