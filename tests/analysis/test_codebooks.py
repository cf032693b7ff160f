"""Codebooks: those that are built in, and what is wrong with one's own."""

from pathlib import Path
from typing import get_args

import pytest

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.codebooks.codebook import BUILT_IN, built_in, built_in_text, codebook
from toolablate.reports.cause_wording import error_type_name
from toolablate.traces.errors import InputError
from toolablate.traces.records import ErrorType, Mechanism

CODE = '[[codes]]\nname = "{}"\nkey = "{}"\ndefinition = "x"\n'


def test_the_built_in_ones_are_the_mechanisms_and_the_types_of_error() -> None:
    mechanisms, types = map(built_in, BUILT_IN)
    assert [code.name for code in mechanisms.codes] == list(get_args(Mechanism))
    assert [code.shown for code in mechanisms.codes] == [mechanism_name(code.name) for code in mechanisms.codes]
    assert [(code.name, code.shown) for code in types.codes] == [
        (each, error_type_name(each)) for each in get_args(ErrorType)
    ]


def test_a_printed_one_is_a_start_for_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "codes.toml"
    path.write_text(built_in_text("mechanisms"), encoding="utf-8")
    assert codebook(str(path)) == built_in("mechanisms")
    path.write_text(built_in_text("mechanisms").replace('"1"', '"z"'), encoding="utf-8")
    with pytest.raises(InputError, match="line 2: name: 'mechanisms' is the name of the built-in one"):
        codebook(str(path))
    path.write_text(built_in_text("mechanisms").replace('"mechanisms"', '"ours"', 1), encoding="utf-8")
    assert codebook(str(path)).digest != built_in("mechanisms").digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = \n", "at line 1"),
        ('name = "m"\n' + CODE.format("a", "1") + CODE.format("b", "Q"), "line 8: codes[1].key"),
        ('name = "m"\n' + CODE.format("a", "1") + CODE.format("b", "1"), "line 8: codes: 2 codes have the key '1'"),
        ('name = "m"\n' + CODE.format("a", "1") + CODE.format("b", "w"), "line 8: codes: the key 'w' of 'b' means"),
        ('name = "m"\n' + CODE.format("a", "1") + '[[codes]]\nname = "b"\nkey = "2"\n', "line 6: codes[1].definition"),
        ('name = "m"\nseveral = "yes please"\n' + CODE.format("a", "1") + CODE.format("b", "2"), "line 2: several"),
        ('name = "m"\ncode = 1\n' + CODE.format("a", "1") + CODE.format("b", "2"), "did you mean 'codes'"),
    ],
)
def test_what_is_wrong_names_file_key_and_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "codes.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        codebook(str(path))
    assert str(path) in str(raised.value)
    assert told in str(raised.value)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        codebook(str(tmp_path / "none.toml"))
