"""What is made once for all processes of the tests."""

from pathlib import Path

import pytest
from tests.made_once import filled


def test_it_is_made_once_and_anew_where_that_failed(tmp_path: Path) -> None:
    asked = list[bool]()

    def make(folder: Path) -> None:
        asked.append((folder / "half").exists())
        (folder / "half").touch()
        if len(asked) == 1:
            raise OSError("no luck")

    with pytest.raises(OSError, match="no luck"):
        filled(tmp_path / "once", make)
    assert filled(tmp_path / "once", make) == filled(tmp_path / "once", make) == tmp_path / "once"
    assert asked == [False, False]
