"""What people do with the pages takes no more clicks than is aimed at. How long it takes is measured, not judged."""

from bench.viewer.tasks import reading_tasks, stopped
from tests.browser.conftest import Browse
from tests.browser.serving import Site


def test_reading_a_store_takes_few_clicks(site: Site, browse: Browse) -> None:
    page = browse(site)
    found = [stopped(task, page, site.base) for task in reading_tasks(site.view.store)]
    assert [(each.task.what, each.clicks) for each in found if not each.met] == []
    assert len(found) == 3
    assert all(each.clicks for each in found), "each is done by hand"
