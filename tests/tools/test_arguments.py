"""Arguments as models write them."""

import pytest

from toolablate.tools.toolset import InvalidArgumentsError, parse_arguments
from toolablate.traces.records import ToolSpec


def spec(**properties: object) -> ToolSpec:
    return ToolSpec(name="t", description="", parameters={"type": "object", "properties": properties})


CODE = spec(code={"type": "string"})
TWO = spec(a={"type": "string"}, b={"type": "integer"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "x", "b": 2}', {"a": "x", "b": 2}),
        ("", {}),
        (" \n", {}),
        ('{"b": 2.0}', {"b": 2}),
        ('{"b": 1e3}', {"b": 1000}),
        ('{"b": 2.5}', {"b": 2.5}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ('{"\\ud800": ["\\udfff"]}', {"\ufffd": ["\ufffd"]}),
    ],
)
def test_objects_are_read(text: str, expected: object) -> None:
    assert parse_arguments(text, TWO) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "x"', "line 1 column 10"),
        ('{"a": "x",\n "b": }', "line 2 column 7"),
        ("[1, 2]", "must be a JSON object, found [1, 2]"),
        ("null", "must be a JSON object"),
        ("print(1)", "not valid JSON"),
        ('{"a": 1} trailing', "Extra data"),
        ('{"a": "x", "a": "y"}', "'a' is given twice"),
        ('{"b": NaN}', "NaN is not a JSON value"),
        ('{"b": 1e999}', "too large"),
        ('{"b": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("{'a': 'x'}", "not valid JSON"),
    ],
)
def test_what_is_no_object_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        parse_arguments(text, TWO)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("print(1)", "print(1)"),
        ('"print(1)"', "print(1)"),
        ("1 + 1", "1 + 1"),
        ("7", "7"),
        ("[1, 2]", "[1, 2]"),
        ('"a" + "b"', '"a" + "b"'),
        ("x = '\ud800'", "x = '\ufffd'"),
        ('{"code": "print(1)"}', "print(1)"),
    ],
)
def test_a_single_string_argument_may_come_bare(text: str, code: str) -> None:
    assert parse_arguments(text, CODE) == {"code": code}


def test_a_cut_object_is_not_taken_for_bare_code() -> None:
    with pytest.raises(InvalidArgumentsError):
        parse_arguments('{"code": "print(1', CODE)
