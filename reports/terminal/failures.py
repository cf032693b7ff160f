"""Wrong answers of a store in a terminal: in groups, and one by one beside the right ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.answer_relation import SAID
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.clusters import Cluster
from toolablate.analysis.failures import Failure, FailureGroup, Failures
from toolablate.reports import numbers
from toolablate.reports.numbers import counted
from toolablate.reports.tables import Fitted, figures, names, simulated_banner, words
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line

ANSWER_CHARS = 60
NO_CLUSTERS = "No cluster is stable: what these trials say falls into no groups."
ABOUT_CLUSTERS = (
    "Stability is the mean Jaccard similarity under resampling; below .60 a group is no cluster, .75 and more is good."
)
MOST_CONDITIONS = 6
"""With more of them the counts by condition are left to `--by condition`."""


def groups_view(
    found: Failures[Failure], keys: Sequence[str], groups: Sequence[FailureGroup[Failure]], store: Path
) -> RenderableType:
    """One row a group: how many, what share of all, how many of each condition, and one of its trials."""
    shown = [name for name in found.conditions if any(name in group.by_condition for group in groups)]
    columns = shown if 1 < len(shown) <= MOST_CONDITIONS and "condition" not in keys else []
    table = Fitted(
        (
            *(
                names(key, [inert(one_line(_said(key, group.values[place]))) for group in groups])
                for place, key in enumerate(keys)
            ),
            figures("wrong", [str(len(group.failures)) for group in groups]),
            figures("%", [numbers.percent(100 * group.share) for group in groups]),
            figures("95 %", [f"{100 * group.ci95[0]:.0f} .. {100 * group.ci95[1]:.0f}" for group in groups], spare=2),
            *(
                figures(_shown(name), [str(group.by_condition.get(name, 0)) for group in groups], spare=1)
                for name in columns
            ),
            words("such as", [group.failures[0].seen.trial[:ID_CHARS] for group in groups]),
        )
    )
    title = Text(f" Wrong answers by {', '.join(map(_shown, keys))}", style="bold")
    told = [Padding(Text("\n".join(cluster_lines(found.clusters)), style="dim"), (0, 1))] if "cluster" in keys else []
    return Group(*_banner(found), title, table, *told, _notes(found, store))


def cluster_lines(clusters: Sequence[Cluster] | None) -> Iterator[str]:
    """How far each can be relied on, and examples."""
    if not clusters:
        yield NO_CLUSTERS
    for each in clusters or ():
        terms, examples = ", ".join(each.terms), ", ".join(trial[:ID_CHARS] for trial in each.examples)
        called = f" ({each.called})" if each.called else ""
        yield one_line(f"{each.name}{called}: stability {each.stability:.2f}, words {terms}, such as {examples}")
    yield ABOUT_CLUSTERS


def failures_view(found: Failures[Failure], limit: int) -> RenderableType:
    shown = found.failures[:limit]
    table = Fitted(
        (
            words("trial", [each.seen.trial[:ID_CHARS] for each in shown]),
            names("question", [_shown(each.seen.question) for each in shown]),
            names("condition", [_shown(each.seen.condition) for each in shown], common=True),
            names("model", [_shown(each.seen.model) for each in shown], common=True),
            names("relation", [_shown(each.relation) for each in shown], common=True),
            *([names("mechanism", [_mechanism(each) for each in shown])] if any(e.mechanism for e in shown) else []),
            names("answered", [inert(one_line(each.answer, max_chars=ANSWER_CHARS)) for each in shown]),
            names("correct", [inert(one_line(each.expected, max_chars=ANSWER_CHARS)) for each in shown]),
        )
    )
    more = len(found.failures) - len(shown)
    left = f"; {more} more, see --limit and --where" if more else ""
    of_all = f", of {found.wrong} in all" if len(found.failures) < found.wrong else ""
    return Group(*_banner(found), table, Text(f"{counted(len(shown), 'wrong trial')}{left}{of_all}."))


def _banner(found: Failures[Failure]) -> Iterator[RenderableType]:
    if found.simulated:
        yield simulated_banner()


def _notes(found: Failures[Failure], store: Path) -> RenderableType:
    lines = [f"{found.wrong} of {counted(found.trials, 'scored trial')} are wrong."]
    if len(found.failures) < found.wrong:
        lines.append(f"{len(found.failures)} of them are in these groups.")
    if found.unscored:
        lines.append(f"{counted(found.unscored, 'trial')} more failed or have no score; they are no wrong answers.")
    lines.append(f"The trials of a group: toolablate failures {one_line(str(store))} --where KEY=VALUE --list")
    return Padding(Text("\n".join(lines), style="dim"), (0, 1, 1, 1))


def _said(key: str, value: str) -> str:
    """A relation in words; nothing as a dash."""
    if key == "relation" and value in SAID:
        return f"{value}: {SAID[value]}"
    return value or "-"


def _mechanism(failure: Failure) -> str:
    return mechanism_name(failure.mechanism) if failure.mechanism else ""


def _shown(text: str) -> str:
    return one_line(text)
