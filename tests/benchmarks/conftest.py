import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Iterator[dict[str, Any]]]:
    """Rows of a file of real model outputs; skips where they are absent."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"{name} is not in {DATA} (set TOOLABLATE_DATA)")
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    return rows
