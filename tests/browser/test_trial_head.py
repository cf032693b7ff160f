"""What stands above the events of a trial: answers and judges, attempts, why there is no explanation."""

from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Browse
from tests.browser.hostile import done
from tests.browser.serving import Site
from tests.traces.samples import CODE, MODEL, NONE, attempt, run, score

from toolablate.traces.records import (
    JudgeCall,
    Judgement,
    Message,
    ModelReply,
    ModelRequest,
    Question,
    ReferenceTarget,
    Rubric,
    Trial,
)
from toolablate.traces.store import Recorder

REFERENCE = "A long reference answer. " * 10
ESSAY = Question(id="essay", prompt="Why?", target=ReferenceTarget(answer=REFERENCE), rubric=Rubric(points="Be brief."))


async def _store(path: Path, scorers: tuple[str, ...]) -> str:
    trials = [
        Trial(question=ESSAY.identity(), model=MODEL.identity(), condition=each.identity()) for each in (NONE, CODE)
    ]
    with Recorder(path) as recorder:
        recorder.plan(run(), [ESSAY], [MODEL], [NONE, CODE], trials)
        await attempt(recorder, trials[0])
        await attempt(recorder, trials[1], outcome="failed", turns=1)
        await attempt(recorder, trials[1])
        said = JudgeCall(
            request=ModelRequest(messages=()),
            reply=ModelReply(message=Message(role="assistant", content="<b>Not met.</b>"), finish_reason="stop"),
        )
        judged = {"judgement": Judgement(model=MODEL, calls=(said,)), "extracted": ()}
        for name in scorers:
            await recorder.score([score(trials[0], 1.0, scorer=name)])
            await recorder.score([score(trials[1], 0.0, scorer=name).model_copy(update=judged)])
    return trials[1].id


def test_a_judge_is_shown_with_what_it_compared_with(
    tmp_path: Path, serve: Callable[..., Site], browse: Browse
) -> None:
    trial = done(_store(tmp_path / "judged.sqlite", ("judge",)))
    page = browse(serve(tmp_path / "judged.sqlite", why=False), f"/trial/{trial}?raw=1", scripts=False)
    shown = {
        each.locator("summary").text_content(): each.locator("pre").text_content()
        for each in page.locator(".pinned-whole details:has(pre)").all()
    }
    assert shown == {
        "Reference answer": REFERENCE,
        "Points to be met": "Be brief.",
        "What the judge gpt-x said": "<b>Not met.</b>",
    }
    assert "no readable answer" in page.locator(".verdict").inner_text()


def test_earlier_attempts_are_a_click_away(tmp_path: Path, serve: Callable[..., Site], browse: Browse) -> None:
    trial = done(_store(tmp_path / "again.sqlite", ("judge",)))
    page = browse(serve(tmp_path / "again.sqlite", why=False), f"/trial/{trial}", scripts=False)
    assert page.locator(".event").count() == 6
    page.get_by_role("link", name="1", exact=True).first.click()
    page.wait_for_url(f"**/trial/{trial}?attempt=1")
    assert "Infrastructure failed" in page.locator(".verdict").inner_text()
    assert page.locator(".event").count() == 4
    assert page.locator("#label, .why").count() == 0


def test_it_says_why_it_cannot_say_why(tmp_path: Path, serve: Callable[..., Site], browse: Browse) -> None:
    """Two scorers, of which nobody says which one counts."""
    trial = done(_store(tmp_path / "two.sqlite", ("judge",)))
    site = serve(tmp_path / "two.sqlite", why=False)

    async def again() -> None:
        with Recorder(tmp_path / "two.sqlite") as recorder:
            await recorder.score([score(trial, 0.5, scorer="second")])

    done(again())
    page = browse(site, f"/trial/{trial}", scripts=False)
    assert page.locator(".event").count() == 6
    assert "No explanation" in page.locator("main").inner_text()
    assert page.locator(".verdict").count() == 2
