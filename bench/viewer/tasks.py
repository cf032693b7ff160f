"""What people do with the pages, in a real browser: how many clicks and keys a task takes, and how many seconds.

Tasks begin on the overview, but for that of labels, which begins on its page. A click waits for the page that it leads
to, as a person does.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from toolablate.analysis.failures import Failure, read_failures, with_mechanisms
from toolablate.cli.failures import mechanisms_of

LABEL_KEYS = "1234567lou"
"""Of ten codes of the codebook of mechanisms."""


class Hand:
    """A person's, on one page of a browser: what it does is counted."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.clicks = self.keys = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()
        self.page.wait_for_load_state()

    def save(self, what: Locator) -> Path:
        """What a link downloads."""
        with self.page.expect_download() as expected:
            self.click(what)
        return Path(expected.value.path())

    def press(self, key: str) -> None:
        self.keys += 1
        self.page.keyboard.press(key)


@dataclass(frozen=True, slots=True)
class Task:
    """`do` raises where the task cannot be done. An aim of None has no limit."""

    what: str
    do: Callable[[Hand], object]
    begins: str = "/"
    clicks: int | None = None
    keys: int | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a task took, in `seconds` by the clock."""

    task: Task
    clicks: int
    keys: int
    seconds: float

    @property
    def met(self) -> bool:
        return all(
            aim is None or took <= aim for took, aim in ((self.clicks, self.task.clicks), (self.keys, self.task.keys))
        )


def stopped(task: Task, page: Page, base: str) -> Stopped:
    hand = Hand(page, base)
    page.goto(f"{base}{task.begins}")
    began = time.perf_counter()
    task.do(hand)
    return Stopped(task, hand.clicks, hand.keys, time.perf_counter() - began)


def why_it_hurt(hand: Hand, hurt: Failure) -> str:
    """To the sentence that says why its question went wrong: by the number of questions that its condition turned
    wrong."""
    turned = urlencode({"model": hurt.seen.model, "condition": hurt.condition, "flip": "right_to_wrong"})
    hand.click(hand.page.locator(f"table.results a[href*='{turned}']").first)
    row = hand.page.locator("tr[data-step]", has=hand.page.get_by_text(hurt.seen.question, exact=True))
    hand.click(row.locator("td.right_to_wrong a.mark.wrong:not(.beside)").first)
    sentence = hand.page.locator(".pinned-verdict")
    expect(sentence).to_be_visible()
    return sentence.inner_text()


def flips_by_mechanism(hand: Hand, one: Failure) -> int:
    """To the questions that its mechanism turned wrong, each with the link to its two trials side by side."""
    cause = urlencode({"model": one.seen.model, "condition": one.condition, "mechanism": one.mechanism})
    hand.click(hand.page.locator(f"table.attributed a[href*='{cause}']").first)
    turned = hand.page.locator("td.right_to_wrong a.turn")
    expect(turned.first).to_be_visible()
    return turned.count()


def to_a_colleague(hand: Hand) -> tuple[Path, Path]:
    """A trial that one reads as a file, and a figure of the overview."""
    trial = hand.save(hand.page.locator(".taking a[href*='/report']"))
    hand.click(hand.page.get_by_role("link", name="Overview", exact=True))
    return trial, hand.save(hand.page.locator("figcaption a[href$='.png']").first)


def ten_labels(hand: Hand) -> None:
    """From the page of labels, with a queue: to the next trial, and a key for each."""
    for number, key in enumerate(("j", "Enter", *LABEL_KEYS)):
        hand.press(key)
        if number:
            expect(hand.page.locator("#label h2")).to_contain_text(f"{number - 1} of")
            hand.page.wait_for_load_state()


def reading_tasks(store: Path) -> list[Task]:
    """Those of a store, with a question, a trial and a mechanism of it: retrieval distraction where it turned questions
    wrong, else what turned most of them."""
    found = with_mechanisms(read_failures(store), mechanisms_of(store, "latest", None)).failures
    trials = Counter((each.seen.model, each.condition, each.seen.question) for each in found)
    most = max(trials.values())
    flips = [
        each
        for each in found
        if each.flip == "right" and each.mechanism
        if trials[each.seen.model, each.condition, each.seen.question] == most
    ]
    causes = Counter((each.seen.model, each.condition, each.mechanism) for each in flips)
    one = max(
        flips,
        key=lambda each: (
            each.mechanism == "retrieval_distraction",
            causes[each.seen.model, each.condition, each.mechanism],
        ),
    )
    return [
        Task("why a tool hurt a question", partial(why_it_hurt, hurt=flips[0]), clicks=2),
        Task(f"flips by {one.mechanism}", partial(flips_by_mechanism, one=one), clicks=3),
        Task("a trace and a figure to a colleague", to_a_colleague, begins=f"/trial/{one.trial}", clicks=3),
    ]


LABELLING = Task("ten labels", ten_labels, begins="/labels", keys=12)
