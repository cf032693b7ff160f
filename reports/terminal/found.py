"""What a search found, in a terminal: counts by condition, and the hits with their words in context."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.found import Found, Hit, Snippet
from toolablate.reports import numbers
from toolablate.reports.found_wording import ABOUT_FLIPS, ABOUT_HITS, notes, percent, summary, verdict
from toolablate.reports.tables import Fitted, figures, names, simulated_banner, words
from toolablate.traces.terminal_text import ID_CHARS, one_line

_NAME_CHARS = 60


def found_view(found: Found, store: Path) -> RenderableType:
    return Group(*_parts(found, store))


def _parts(found: Found, store: Path) -> Iterator[RenderableType]:
    if found.simulated:
        yield simulated_banner()
    yield Text(summary(found), style="bold")
    if found.by_condition and found.all.hits:
        yield _conditions(found)
    for hit in found.hits:
        yield _hit(hit)
    more = found.all.hits - len(found.hits)
    lines = [*notes(found)]
    if more:
        lines.append(f"{more:,} more: see --limit.")
    if found.hits:
        lines += [ABOUT_HITS, ABOUT_FLIPS, f"Read one: toolablate show {one_line(str(store))} TRIAL"]
    yield Padding(Text("\n".join(lines), style="dim"), (1, 1, 0, 1))


def _conditions(found: Found) -> RenderableType:
    rows = found.by_condition
    compared = [row if row.p is not None else None for row in rows]
    return Fitted(
        (
            names("condition", [_name(row.condition) for row in rows]),
            figures("hits", [f"{row.all.hits:,}" for row in rows]),
            figures("trials", [percent(row.all) for row in rows]),
            figures("questions", [f"{row.questions:,}" for row in rows], spare=1),
            *(
                (
                    figures("flips", [f"{row.flips.hits:,}/{row.flips.trials:,}" if row else "" for row in compared]),
                    figures("", [percent(row.flips) if row else "" for row in compared]),
                    figures("rest", [percent(row.rest) if row else "" for row in compared]),
                    figures("by chance", [f"{row.expected:.1f}" if row else "" for row in compared], spare=2),
                    figures("p", [numbers.p_value(row.corrected) if row else "" for row in compared]),
                    words("said", [verdict(row) if row else "" for row in compared]),
                )
                if any(compared)
                else ()
            ),
        )
    )


def _hit(hit: Hit) -> RenderableType:
    text = Text()
    text.append(hit.trial[:ID_CHARS], style="bold")
    flip = "  right without tools" if hit.flip else ""
    where = "  ".join(map(_name, (hit.question, hit.condition, hit.model)))
    text.append(f"  {where}  {hit.verdict or 'not scored'}{flip}\n")
    for snippet in hit.snippets:
        text.append_text(_snippet(snippet))
    return text


def _snippet(snippet: Snippet) -> Text:
    where = snippet.field if snippet.event is None else f"{snippet.event} {snippet.field}"
    text = Text(f"  {where}: ", style="dim")
    before, after = _inline(snippet.before), _inline(snippet.after)
    text.append(before, style="not dim")
    text.append(_inline(snippet.match), style="not dim bold reverse")
    text.append(f"{after.rstrip()}\n", style="not dim")
    return text


def _inline(text: str) -> str:
    """On one line, with the blanks at its ends, which part it from what stands beside it."""
    shown = one_line(text, max_chars=1_000)
    first = " " if text[:1].isspace() else ""
    last = " " if text[-1:].isspace() and shown else ""
    return f"{first}{shown}{last}"


def _name(text: str) -> str:
    return one_line(text, max_chars=_NAME_CHARS)
