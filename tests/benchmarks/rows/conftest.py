import datasets
import pytest


@pytest.fixture(autouse=True)
def _no_progress() -> None:
    datasets.disable_progress_bars()
