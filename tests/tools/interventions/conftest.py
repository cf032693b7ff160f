import pytest
from tests.tools.browser.conftest import Shelf


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()
