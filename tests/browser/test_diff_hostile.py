"""What models, pages and questions wrote does nothing where two trials stand side by side."""

from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Browse, LookAt, seen_as
from tests.browser.hostile import SCRIPT, done, hostile
from tests.browser.serving import Site
from tests.browser.test_trial_hostile import _FOREIGN


def test_nothing_runs_and_it_fits(tmp_path: Path, serve: Callable[..., Site], browse: Browse, look_at: LookAt) -> None:
    store = tmp_path / "hostile.sqlite"
    trial = done(hostile(store))
    page = browse(serve(store, why=False), f"/diff/{trial}/{trial}")
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true })")
    assert page.evaluate("window.ran") is None
    assert page.evaluate(_FOREIGN) == []
    shown = page.locator("main").inner_text()
    assert SCRIPT in shown
    assert "U+202E" in shown
    for width in (1280, 400):
        seen_as(page, width, "light")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        look_at(page, f"diff-hostile-{width}")
