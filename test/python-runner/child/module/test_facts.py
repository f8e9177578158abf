"""Reading facts about a module's objects runs no code of the module."""

from toolrack_runner.child.module.facts import syntax_place


class Name(str):
    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return True

    __hash__ = str.__hash__


def test_the_file_of_a_syntax_error_is_compared_without_code_of_the_module() -> None:
    error = SyntaxError()
    error.filename, error.lineno = Name("weather.py"), 3
    assert syntax_place(error, ["weather.py"]) is None
    assert Name.compared == 0
    error.filename = "weather.py"
    assert syntax_place(error, ["weather.py"]) == ("weather.py", 3)
    assert syntax_place(error, ["other.py"]) is None
