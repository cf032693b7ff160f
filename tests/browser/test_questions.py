"""The table of questions in a real browser."""

from tests.browser.conftest import Browse, LookAt
from tests.browser.serving import Site


def test_it_looks_as_it_should(site: Site, browse: Browse, look_at: LookAt) -> None:
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            look_at(browse(site, "/questions", width=width, scheme=scheme), f"questions-{width}-{scheme}")
