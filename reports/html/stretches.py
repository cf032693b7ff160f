"""The texts of two trials side by side as HTML: what one side alone has is told, and long stretches are folded."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from toolablate.reports.html.cards import Form
from toolablate.reports.html.highlighting import shown
from toolablate.reports.html.inert import inert
from toolablate.reports.html.side_by_side import Shown, Stretch

_ELEMENTS: Mapping[str, tuple[str, str]] = {
    "same": ("", ""),
    "removed": ("<del>", "</del>"),
    "added": ("<ins>", "</ins>"),
}


def beside(told: Shown) -> Markup:
    """A `pre` with its text. Code that is cut or taken apart has no colours: a part of a string is no code."""
    alone = len(told.stretches) == 1
    whole = " whole" if alone and told.stretches[0].kind != "same" else ""
    form = told.form if alone and not told.stretches[0].tail and told.form in ("code", "json") else "prose"
    text = "".join(part for each in told.stretches for part in _written(each, form))
    # What browsers leave out after <pre> is a line feed: a text may begin with one. All of `text` is escaped.
    return Markup(f'<pre class="{told.form}{whole}">\n{text}</pre>')  # noqa: S704


def _written(each: Stretch, form: Form) -> Iterator[str]:
    begin, end = _ELEMENTS[each.kind]
    yield begin
    yield shown(each.head, form)
    if each.folded:
        more = f"{len(each.folded):,} characters more"
        yield f'<details class="diff-fold"><summary>{more}</summary>{inert(each.folded)}</details>'
    if each.left_out:
        yield f'<span class="diff-left-out">{each.left_out:,} characters left out here</span>'
    if each.tail:
        yield inert(each.tail)
    yield end
