"""The pages of a review, served as `toolablate build review` serves them, and who asks them."""

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
from tests.browser.serving import TOKEN, Site, answering

from toolablate.experiments.construction.approvals import load_reviewed
from toolablate.experiments.construction.review_desk import Desk
from toolablate.experiments.construction.reviewers import Reviewers
from toolablate.experiments.construction.workbench import Workbench
from toolablate.viewer.application import served
from toolablate.viewer.reviewing.pages import ROUTES, ReviewView


@contextmanager
def reviewing(pipeline: Path, *, port: int = 0, token: str = TOKEN) -> Iterator[Site]:
    workbench = Path(load_reviewed(pipeline).workbench)
    with Workbench(workbench, beside=True) as bench:
        view = ReviewView(Desk(pipeline, bench), Reviewers(workbench), pipeline)
        with answering(served(ROUTES, token, frame="review_base.html", of="workbench", view=view), port) as base:
            yield Site(base, view)


class Person:
    """A browser without scripts, of one reviewer."""

    def __init__(self, site: Site, alias: str = "", name: str = "", **profile: str) -> None:
        # A page may wait for a disk that others use; the test has a limit of its own.
        self.client = httpx.Client(
            base_url=site.base, headers={"Origin": site.base}, follow_redirects=True, timeout=None
        )
        weakref.finalize(self, self.client.close)
        self.client.get(f"/?token={TOKEN}")
        self.page = self.post("/reviewer", alias=alias, name=name, **profile)

    def post(self, path: str, **fields: str) -> httpx.Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.client.post(path, content=urlencode(fields), headers=headers)

    def next(self, kind: str = "Review") -> str:
        """The address of the item that waits for this person, which the first page leads to."""
        found = re.search(rf'href="(/[^"]+)" data-open>{kind} the next one', self.client.get("/").text)
        assert found, self.client.get("/").text
        return self.client.get(found[1]).url.path

    def form(self, path: str) -> dict[str, str]:
        """As the page has it."""
        from html import unescape

        text = self.client.get(path).text
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))
        for name, said in re.findall(r'<textarea name="([\w-]+)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL):
            fields[name] = unescape(said).replace("\n", "\r\n")
        for name, value in re.findall(r'<input type="radio" name="(right)" value="(\d)"[^>]* checked', text):
            fields[name] = value
        for name, value in re.findall(r'<select name="([\w-]+)"[^>]*>.*?<option selected>([^<]*)', text):
            fields[name] = value
        return fields

    def says(self, path: str, action: str, **fields: str) -> httpx.Response:
        given = {name.replace("_", "-") if name.startswith("text") else name: value for name, value in fields.items()}
        return self.post(path, **{**self.form(path), "action": action, **given})
