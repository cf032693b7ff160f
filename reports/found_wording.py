"""What a search found, in sentences of ours: for a terminal and for a page."""

from collections.abc import Iterator

from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.found import ConditionHits, Found, Share
from toolablate.reports.numbers import counted

ABOUT_FLIPS = (
    "Flips: wrong, while the question is mostly right under the baseline. The rest: the other scored trials of the"
    " condition. By chance: how many flips would be found if they were like the rest. p: Fisher's exact test of both"
    " shares, with counts divided by the design effect of questions (Moulton 1990), after Holm over the conditions."
)
ABOUT_HITS = "A trial is one hit, however often the words stand in it; words of a question's own text are no hits."


def share(found: Share) -> str:
    """`31 % (12 of 39)`."""
    return f"{percent(found)} ({found.hits:,} of {found.trials:,})" if found.trials else "none"


def percent(found: Share) -> str:
    """`31 %`, "none" of no trials."""
    if found.percent is None:
        return "none"
    shown = "<1" if 0 < found.percent < 1 else ">99" if 99 < found.percent < 100 else f"{found.percent:.0f}"
    return f"{shown} %"


def verdict(row: ConditionHits) -> str:
    """In a few words, "" where nothing is compared."""
    if row.corrected is None:
        return ""
    if row.corrected >= SIGNIFICANT:
        return "no more than chance"
    often = row.flips.hits * row.rest.trials > row.rest.hits * row.flips.trials
    return "more in flips" if often else "less in flips"


def summary(found: Found) -> str:
    told = f"{counted(found.all.hits, 'trial')} of {counted(found.questions, 'question')}"
    return f"Found in {told}, of {counted(found.all.trials, 'trial')} searched."


def notes(found: Found) -> Iterator[str]:
    """What limits what was found, a sentence each."""
    if found.asked_total:
        names = counted(found.asked_total, "question")
        yield f"{names} with these words in the question itself, which is no hit: see question:"
    if found.read is not None and found.candidates is not None and found.read < found.candidates:
        yield (
            f"Of {counted(found.candidates, 'trial')} that may fit the regular expression {found.read:,} were read, in"
            " a random order; the others are in no count."
        )
    if found.unindexed:
        yield f"{counted(found.unindexed, 'trial')} are not in the index yet, and in no count."
