"""Letters are large enough to read where a figure is shown, and stand where there is room for them."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from tests.reports.attribution.samples import believed
from tests.reports.plots.samples import endings, findings, many

from toolablate.reports.plots.belief_curve import draw_belief
from toolablate.reports.plots.drawing import (
    BEYOND_LATIN,
    _families,
    _installed_since,
    _known,
    as_svg,
    as_text,
    boxes_note,
    write_figure,
)
from toolablate.reports.plots.figures import plates, printed
from toolablate.reports.plots.panels import BROAD, INK, SIMULATED, SIMULATED_SHORT, SLIM, Drawing, Form, fitted, plain
from toolablate.reports.plots.scores import draw_effects, draw_scores
from toolablate.reports.plots.waterfall import draw_mechanisms

LEAST_PIXELS, FINE = 11.0, 600
TELEPHONE = 302
"""What a box of the overview leaves of 360 pixels."""
LONG = ("m" * 200, "A model whose name goes on and on, " * 6)
CHINESE = "在工具的帮助下回答问题的语言模型与它的名字"


def texts(drawing: Drawing) -> list[tuple[str, float, float]]:
    """What is written, from where to where in pixels."""
    with as_text(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        drawing.figure.set_dpi(FINE)  # in coarser ones letters are as wide as whole pixels
        renderer = FigureCanvasAgg(drawing.figure).get_renderer()
        drawing.figure.draw_without_rendering()
        found = drawing.figure.findobj(lambda each: isinstance(each, Text) and bool(each.get_text()))
        boxes = [(each.get_text(), each.get_window_extent(renderer)) for each in found if each.get_visible()]
    return [(text, box.x0, box.x1) for text, box in boxes]


@pytest.mark.deep
@pytest.mark.parametrize("conditions", [2, 18, 40])
def test_no_letter_is_less_than_eleven_pixels_high(conditions: int) -> None:
    found = many(["m", "n"], [f"condition-{number}:placebo" for number in range(conditions)])
    belief = as_svg(draw_belief(believed()))
    assert least_width(belief) <= TELEPHONE
    for each in (*printed(found, endings=endings(found)), *printed(findings())):
        assert least_width(each.slim) <= TELEPHONE
        for svg in (each.broad, each.slim, belief):
            sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
            box = re.search(r'viewBox="0 0 ([\d.]+)', svg)
            assert sizes
            assert box is not None
            assert min(sizes) * least_width(svg) / float(box[1]) >= LEAST_PIXELS, each.name


def least_width(svg: str) -> float:
    """In pixels: a figure in less room scrolls."""
    least = re.search(r"min-width: (\d+)px", svg)
    assert least is not None
    return float(least[1])


@pytest.mark.deep
@pytest.mark.parametrize("form", [BROAD, SLIM])
@pytest.mark.parametrize("conditions", [("none", "x" * 200, "W" * 60), ("none", CHINESE, CHINESE[::-1])])
def test_long_names_stay_in_the_figure_and_off_its_bars(conditions: tuple[str, ...], form: Form) -> None:
    found = findings((*LONG, CHINESE), conditions)
    for plate in plates(found, endings=endings(found), form=form):
        placed = texts(plate.drawing)
        wide = plate.drawing.figure.bbox.width
        assert [each for each in placed if each[1] < -1 or each[2] > wide + 1] == [], plate.name
    panel = draw_scores(found.arms, baseline="none")
    names = {fitted(name, 1.6, 9) for name in conditions}
    assert len(names) == 3
    placed = [each for each in texts(panel) if each[0] in names]
    left = panel.figure.axes[0].get_window_extent().x0
    assert len(placed) == 9
    assert [each for each in placed if each[2] > left] == []


def test_a_picture_takes_the_letters_that_its_font_lacks_from_another() -> None:
    if len(_families()) == 1:
        pytest.skip("no font with Chinese letters is on this machine")
    with as_text(), warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing = draw_scores(findings((CHINESE,)).arms, baseline="none")
        FigureCanvasAgg(drawing.figure).draw()


def test_a_cut_name_keeps_its_ends_and_is_no_longer_than_its_room() -> None:
    assert fitted("python:placebo", 1.6, 9) == "python:placebo"
    cut = fitted(f"begin{'x' * 90}end", 1.0, 9)
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert len(fitted("W" * 90, 1.0, 9)) < len(cut) < len(fitted("i" * 90, 1.0, 9))
    assert len(fitted(CHINESE, 1.0, 9)) <= 8
    assert fitted("a\x00b\nc", 1.0, 9) == plain("a\x00b\nc", 9) == "a\ufffdb c"


@pytest.mark.deep
def test_a_band_of_what_could_be_found_is_as_wide_to_either_side() -> None:
    row = replace(findings().comparisons[0], delta_points=-40.0, ci95=(-50.0, -30.0), detectable_points=12.0)
    low, high = draw_effects([row]).figure.axes[0].get_xlim()
    assert low < -50
    assert high > 12


@pytest.mark.deep
def test_the_line_at_zero_leaves_headings_free() -> None:
    found = findings()
    assert found.why is not None
    for drawing in (draw_effects(found.comparisons), draw_mechanisms(found.why.decompositions)):
        axes = drawing.figure.axes[0]
        headings = [text.get_position()[1] for text in axes.texts if text.get_fontweight() == "bold"]
        (first, *_) = [row for row in headings if row == 0]
        (line,) = [line for line in axes.lines if set(line.get_xdata()) == {0.0} and line.get_color() == INK]
        assert min(end for end in line.get_ydata() if end == end) >= first + 0.5


def test_many_probes_have_no_more_ticks_than_there_is_room_for() -> None:
    belief = believed()
    many_steps = replace(belief, beliefs=tuple(replace(belief.beliefs[step % 3], step=step) for step in range(40)))
    drawing = draw_belief(many_steps, events=range(0, 400, 10))
    assert [label.get_text() for label in drawing.figure.axes[0].get_xticklabels()] == [
        str(event) for event in range(0, 400, 50)
    ]
    single = draw_belief(replace(belief, beliefs=belief.beliefs[:1]))
    assert [label.get_text() for label in single.figure.axes[0].get_xticklabels()] == ["0"]


@pytest.mark.deep
def test_names_of_models_and_mechanisms_are_whole() -> None:
    why = findings().why
    assert why is not None
    shown = {text for text, _, _ in texts(draw_mechanisms(why.decompositions))}
    assert {"computational lock-in", "retrieval distraction"} & shown
    assert not [text for text in shown if "…" in text]


@pytest.mark.deep
@pytest.mark.parametrize("form", [BROAD, SLIM])
def test_of_a_long_name_all_is_cut_but_that_it_is_no_measurement(form: Form) -> None:
    found = findings(("m", LONG[0]), ("none", LONG[1]))
    mark = SIMULATED_SHORT if form.above else SIMULATED
    for each in plates(found, endings=endings(found), form=form):
        headings = [text for text, _, _ in texts(each.drawing) if text.startswith("mmm")]
        assert all(heading.endswith(mark) for heading in headings), each.name
        assert headings or each.name in ("mechanisms", "domains", "ladders"), each.name


@pytest.mark.deep
def test_a_name_above_its_bar_ends_where_the_number_begins() -> None:
    found = findings(("m",), ("none", "x" * 200, "W" * 60))
    for drawing in (draw_scores(found.arms, baseline="none", form=SLIM), draw_effects(found.comparisons, form=SLIM)):
        lines: dict[float, list[tuple[float, float]]] = {}
        for text, (_, left, right) in zip(drawing.figure.axes[0].texts, texts(drawing), strict=False):
            lines.setdefault(text.get_position()[1], []).append((left, right))
        pairs = [line for line in lines.values() if len(line) == 2]
        assert len(pairs) >= 2
        assert [pair for pair in pairs if pair[0][1] > pair[1][0]] == []


@pytest.mark.deep
def test_letters_that_no_font_has_are_told(tmp_path: Path) -> None:
    drawing = draw_scores(findings(("m\U000f0000\U000f0001",)).arms, baseline="none")
    drawing.figure.text(0, 0, "\U000f0000\U000f0001")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        missing = write_figure(drawing.figure, tmp_path / "a.png")
        assert write_figure(drawing.figure, tmp_path / "a.svg") == frozenset()
        whole = draw_scores(findings(("m",)).arms, baseline="none")
        assert write_figure(whole.figure, tmp_path / "b.png") == frozenset()
    assert missing == {"\U000f0000", "\U000f0001"}
    assert boxes_note(missing).startswith("no font of this machine has 2 letters of the names ")
    assert boxes_note(frozenset()) == ""


def test_a_font_that_was_installed_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    if len(_families()) == 1:
        pytest.skip("no font with Chinese letters is on this machine")
    without = [font for font in font_manager.fontManager.ttflist if font.name not in BEYOND_LATIN]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", without)
    assert not _known()
    assert _installed_since() == _known() != []


def test_a_font_without_a_bold_is_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    # The one that matplotlib brings: it has one weight. Not from the cache, where nothing is said.
    bold = font_manager.FontProperties(family="DejaVu Sans Display", weight="bold")
    fonts = font_manager.FontManager()
    with as_text():
        fonts.findfont(bold)
    assert not any("DejaVu Sans Display" in each for each in caplog.messages)
    font_manager.FontManager().findfont(bold)
    # Beside it may stand that the list of fonts takes long to make, on a busy machine.
    assert sum("DejaVu Sans Display" in each for each in caplog.messages) == 1
