"""Figures as SVG within pages."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from lxml import etree
from tests.reports.attribution.samples import believed
from tests.reports.plots.samples import HOSTILE, endings, findings, many

from toolablate.analysis.attribution.belief import flip_step
from toolablate.analysis.findings import AttributedCount
from toolablate.reports.plots.belief_curve import draw_belief
from toolablate.reports.plots.drawing import as_svg
from toolablate.reports.plots.figures import Printed, plates, printed
from toolablate.reports.plots.scores import draw_effects, draw_flips, draw_scores
from toolablate.reports.plots.waterfall import draw_mechanisms
from toolablate.viewer.selection import questions_address

FOUND = findings()
SVG = "{http://www.w3.org/2000/svg}"
NAMES = [
    *("scores", "effects", "flips", "matrices", "outcomes", "mechanisms", "ladders", "domains"),
    *("mechanisms-2", "domains-2"),
]


def parsed(svg: str) -> etree._Element:
    return etree.fromstring(svg, etree.XMLParser(resolve_entities=False, no_network=True))


def marked(root: etree._Element) -> Iterator[tuple[str, str | None]]:
    """What parts tell, and where they lead."""
    for part in root.iter(f"{SVG}a", f"{SVG}g"):
        if part.get("class") == "part":
            yield part.findtext(f"{SVG}title") or "", part.get("href")


def told(root: etree._Element, beginning: str) -> tuple[str, str | None]:
    (found,) = [each for each in marked(root) if each[0].startswith(beginning)]
    return found


@pytest.mark.deep
def test_all_figures_of_findings_are_printed_once() -> None:
    found = printed(FOUND, endings=endings(FOUND), link=questions_address)
    assert [each.name for each in found] == NAMES
    assert printed(findings(), endings=endings(FOUND), link=questions_address) is found
    assert printed(FOUND, endings=endings(FOUND)) is not found
    assert [each.name for each in printed(FOUND)] == [name for name in NAMES if name != "outcomes"]
    assert printed(replace(FOUND, models=(), arms=(), comparisons=(), floors=(), flips=())) == ()


def test_they_stand_within_a_page_that_allows_no_script_and_no_style() -> None:
    found = printed(FOUND, endings=endings(FOUND), link=questions_address)
    seen: list[str] = []
    for each in found:
        seen += [value for svg in (each.broad, each.slim) for value in standing(svg, each)]
    assert len(seen) == len(set(seen)), "figures share a page"


def standing(svg: str, each: Printed) -> list[str]:
    """Its ids."""
    assert svg.startswith("<svg ")
    assert "<!" not in svg
    root = parsed(svg)
    tags = {etree.QName(element).localname for element in root.iter()}
    assert tags <= {*("svg", "g", "a", "path", "text", "title", "desc", "use", "defs", "clipPath", "rect")}, each.name
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
    ids = [value for element in root.iter() if (value := element.get("id"))]
    assert len(ids) == len(set(ids))
    pointed = set(re.findall(r'(?:url\(|"|:)#([\w-]+)[)"]', svg)) | {
        use.get("href", "")[1:] for use in root.iter(f"{SVG}use")
    }
    described = (root.get("aria-describedby") or "").split()
    assert pointed | set(described) == set(ids)
    assert root.get("aria-label") == each.title
    assert root.findtext(f"{SVG}desc") == each.about
    return ids


def test_a_page_can_tell_a_broad_figure_from_a_slim_one_and_both_say_the_same() -> None:
    for each in printed(FOUND, endings=endings(FOUND), link=questions_address):
        broad, slim = parsed(each.broad), parsed(each.slim)
        assert (broad.get("class"), slim.get("class")) == ("plot broad", "plot slim")
        assert each.svg == each.broad + each.slim
        assert sorted(marked(broad)) == sorted(marked(slim)), each.name


@pytest.mark.deep
def test_many_conditions_stand_beside_each_other_where_a_figure_has_a_line_of_its_own() -> None:
    drawn = {}
    for count in (4, 10):
        found = many(["m", "n"], [f"condition-{number}:placebo" for number in range(count)])
        drawn[count] = {each.name: each for each in printed(found, link=questions_address)}
    assert not any(each.wide for each in drawn[4].values())
    assert [name for name, each in drawn[10].items() if each.wide] == ["domains", "domains-2"]
    domains = drawn[10]["domains"]
    broad, wide = parsed(domains.broad), parsed(domains.wide)
    assert wide.get("class") == "plot wide"
    assert domains.svg.endswith(domains.wide)
    assert sorted(marked(broad)) == sorted(marked(wide))
    assert [text.text for text in wide.iter(f"{SVG}text")].count("m") == 1
    assert [text.text for text in broad.iter(f"{SVG}text")].count("m") == 3


@pytest.mark.deep
def test_colours_and_letters_are_those_of_the_page() -> None:
    for each in printed(FOUND, endings=endings(FOUND)):
        for text in (*parsed(each.broad).iter(f"{SVG}text"), *parsed(each.slim).iter(f"{SVG}text")):
            assert "var(--" in text.get("style", "")
            assert "font-family" not in text.get("style", "")
        bare = re.sub(r"var\([^)]*\)", "", each.svg)
        assert set(re.findall("(?<=: )#[0-9a-f]{6}", bare)) <= {"#cc79a7", "#e69f00", "#bfbfbf"}, each.name


def test_a_figure_with_links_is_a_group_and_one_without_is_an_image() -> None:
    linked, image = (as_svg(draw_effects(FOUND.comparisons, link=link)) for link in (questions_address, None))
    assert parsed(linked).get("role") == "group"
    assert parsed(image).get("role") == "img"
    assert "href" not in re.sub("<use[^>]*>", "", image)
    assert parsed(linked).get("pointer-events") == "none"
    assert {each.get("pointer-events") for each in parsed(linked).iter(f"{SVG}a")} == {"all"}
    assert [text for text, _ in marked(parsed(image))] == [text for text, _ in marked(parsed(linked))]


@pytest.mark.deep
def test_parts_say_what_they_count_and_lead_there() -> None:
    scores = parsed(as_svg(draw_scores(FOUND.arms, baseline="none", link=questions_address)))
    arm = FOUND.arms[1]
    assert arm.accuracy.ci95 is not None
    low, high = arm.accuracy.ci95
    text, href = told(scores, "m · search: ")
    assert text.startswith(f"m · search: {arm.accuracy.percent:.1f} % ({low:.1f} to {high:.1f}), n = 60")
    assert href == "/questions?model=m&condition=search"

    flips = parsed(as_svg(draw_flips(FOUND.floors)))
    chance = FOUND.floors[1].chance
    text, href = told(flips, f"m · python: {chance.flips_right_to_wrong:.1f} of 60 questions right to wrong")
    assert text.endswith(f"by chance alone {chance.noise_flips:.1f}")
    assert href is None, "a mean over pairs of runs is no list of questions"

    assert FOUND.why is not None
    attributed = [
        AttributedCount("m", "python", "retrieval_distraction", "replay", 3),
        AttributedCount("m", "python", "format", "trace", 1),
        AttributedCount("n", "python", "sampling_noise", "replay", 1),
    ]
    why = parsed(as_svg(draw_mechanisms(FOUND.why.decompositions[:1], attributed=attributed, link=questions_address)))
    assert told(why, "m · python: retrieval distraction ")[1] == (
        "/questions?model=m&condition=python&mechanism=retrieval_distraction"
    )
    assert told(why, "m · python: format lost ")[1] == "/questions?model=m&condition=python&mechanism=format"
    assert told(why, "m · python: tools' use ")[1] is None, "no trial is attributed to it"
    assert "one with a harmful name can be a gain" in (why.findtext(f"{SVG}desc") or "")
    unlisted = parsed(
        as_svg(draw_mechanisms(FOUND.why.decompositions[:1], attributed=attributed[:1], link=questions_address))
    )
    assert told(unlisted, "m · python: format lost ")[1] is None, "no trial of this arm is"
    assert told(why, "m · python: effect ")[1] == "/questions?model=m&condition=python"

    domains = parsed(next(each.broad for each in printed(FOUND, link=questions_address) if each.name == "domains"))
    assert told(domains, "m · search · law: ")[1] == "/questions?model=m&condition=search&domain=law"
    outcomes = next(
        each for each in printed(FOUND, endings=endings(FOUND), link=questions_address) if each.name == "outcomes"
    )
    text, href = told(parsed(outcomes.broad), "n · python: 4 of 60 trials failed")
    assert text.endswith("(6.7 %)")
    assert href == "/questions?model=n&condition=python&ending=failed"


def test_what_is_a_stand_in_is_marked_in_every_figure() -> None:
    for each in printed(FOUND, endings=endings(FOUND)):
        shown = "".join(parsed(each.slim).itertext())
        if each.name not in ("mechanisms", "ladders", "domains"):
            assert "simulated" in shown, each.name


@pytest.mark.deep
@pytest.mark.parametrize("link", [None, questions_address])
def test_hostile_names_are_text(link: object) -> None:
    found = findings((HOSTILE, HOSTILE[::-1]), ("none", HOSTILE, f"{HOSTILE}2"))
    for each in printed(found, endings=endings(found), link=questions_address if link else None):
        for root in (parsed(each.broad), parsed(each.slim)):
            assert not list(root.iter(f"{SVG}script"))
            shown = "".join(root.itertext())
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", shown)
            assert "m\ufffd]0;x\ufffd<script>" in shown
            for part in root.iter(f"{SVG}a"):
                assert (part.get("href") or "").startswith("/questions?model=")


@pytest.mark.deep
def test_many_models_and_conditions_have_a_row_each() -> None:
    models, arms = [f"model-{number}" for number in range(8)], [f"a-long-name-of-arm-{number}" for number in range(12)]
    found = many(models, arms)
    by_name = {plate.name: plate.drawing for plate in plates(found)}
    assert len(by_name["scores"].marks) == 8 * 12
    assert len(by_name["effects"].marks) == 8 * 11
    assert len(by_name["matrices"].marks) == 4 * 8 * 11
    assert len(by_name["domains-8"].marks) == 3 * 11
    high = by_name["scores"].figure.get_figheight()
    assert high == pytest.approx(0.25 * 8 * 13, rel=0.05)


@pytest.mark.deep
def test_threads_that_draw_at_once_draw_what_one_does() -> None:
    def drawn(_: int) -> list[str]:
        return [as_svg(plate.drawing) for plate in plates(FOUND, link=questions_address)][:4]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(drawn, range(4)))
    assert all(each == found[0] for each in found)


def test_a_belief_leads_to_events_and_says_where_it_falls() -> None:
    belief = believed()
    flip = flip_step(belief, 0.3)
    assert flip is not None
    drawing = draw_belief(belief, flip, events=(0, 3, 8), address=lambda event: f"#event-{event}")
    root = parsed(as_svg(drawing))
    assert [href for _, href in marked(root)] == ["#event-0", "#event-3", "#event-8"]
    assert [text for text, _ in marked(root)][2].startswith("Before event 8: right in 0% of 8 samples (0% to ")
    assert "it falls from 94% to 0% before event 8" in drawing.title
    assert parsed(as_svg(draw_belief(belief))).get("role") == "img"


def test_what_is_not_scored_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = replace(FOUND.arms[0], accuracy=replace(FOUND.arms[0].accuracy, percent=None, ci95=None, questions=0))
    root = parsed(as_svg(draw_scores([empty], baseline="none")))
    assert "nothing scored" in "".join(root.itertext())
    assert told(root, "m · none")[0] == "m · none: no question is scored"


@pytest.mark.deep
def test_a_printed_figure_says_what_it_is() -> None:
    first = printed(FOUND)[0]
    assert (first.name, first.title) == ("scores", "Scores of models under each condition")
    assert not first.left_out


def test_a_mechanism_that_is_nothing_in_every_trial_has_no_bar() -> None:
    assert FOUND.why is not None
    decomposition = FOUND.why.decompositions[0]
    nothing = replace(decomposition.mechanisms[0], name="budget", points=0.0, ci95=None, ci90=None)
    drawing = draw_mechanisms(
        [replace(decomposition, mechanisms=(*decomposition.mechanisms[:-1], nothing, decomposition.mechanisms[-1]))]
    )
    assert len(drawing.marks) == len(draw_mechanisms([decomposition]).marks)


def test_scores_that_are_all_one_have_a_scale() -> None:
    for percent in (0.0, 100.0):
        all_one = replace(FOUND.arms[0].accuracy, percent=percent, ci95=(percent, percent))
        drawing = draw_scores([replace(FOUND.arms[0], accuracy=all_one)], baseline="none")
        assert drawing.figure.axes[0].get_xlim() == ((0, 10) if percent == 0 else (90, 100))
