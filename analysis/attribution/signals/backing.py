"""What results say of the answer that a trial gave: that it is better than others, or only that it is there."""

import re
from collections.abc import Iterator

from toolablate.analysis.attribution.signals.adoption import as_words, has_text
from toolablate.analysis.attribution.signals.answers import AnswerForm, normal_text, plain
from toolablate.analysis.attribution.signals.leaning import READ, leaning
from toolablate.analysis.attribution.signals.norms import POSSIBLE
from toolablate.analysis.attribution.signals.records import Answered, Backing
from toolablate.analysis.attribution.signals.steps import Call, Steps

_CLAIMS = re.compile(
    r"\b(?:than|best|better|first\s(?:by|in|among|of|place)|most|least|fewest|fewer|small(?:er|est)|larg(?:er|est)|low(?:er|est)"
    r"|high(?:er|est)|fast(?:er|est)|cheap(?:er|est)|superior|optimal|outperform\w*|beats?|wins?|won|correct|proven?|preferred"
    r"|recommended)\b|最|第一|优于|胜|更[好大小高低多少快优]|[高低多少]于|正确|推荐",
    re.IGNORECASE,
)
"""Comparisons and verdicts. What should be done, and in which order, manuals say of whatever they describe."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_TELLING = 6
"""Characters of an answer that are not met by chance; of a script that writes no blanks fewer are enough."""

_SHOWN = 300
"""Characters of a sentence that are kept."""


def backing(steps: Steps, form: AnswerForm, final: Answered) -> tuple[Backing, ...]:
    """Of what was searched or read, in order, by the sentences that name the answer. Of a result that says both it is
    the claim, which is the better reason. A result that announces the answer by its letter says that it is right."""
    named = tuple(_names(form, final))
    sources = [call for call in steps.calls if call.form != "code" and call.made.status == "ok"]
    found = (_backing(call, form, final, named) for call in sources if final)
    return tuple(each for each in found if each is not None)


def _backing(call: Call, form: AnswerForm, final: Answered, named: tuple[str, ...]) -> Backing | None:
    shown = call.output[:READ]
    if form.kind == "letters" and final == leaning(shown, form, reported=True):
        return Backing(call.event, "claimed", "")
    offered: str | None = None
    for sentence in filter(None, map(as_words, _SENTENCE.split(shown))):
        rest = _besides(sentence, named)
        if rest is not None and _CLAIMS.search(rest):
            return Backing(call.event, "claimed", sentence[:_SHOWN])
        if rest is not None and offered is None and POSSIBLE.search(rest):
            offered = sentence[:_SHOWN]
    return None if offered is None else Backing(call.event, "offered", offered)


def _besides(sentence: str, named: tuple[str, ...]) -> str | None:
    """A sentence that names the answer without its name: names may be worded as claims are."""
    held = [name for name in named if has_text(sentence, name)]
    for name in held:
        sentence = sentence.replace(name, " ")
    return sentence if held else None


def _names(form: AnswerForm, final: Answered) -> Iterator[str]:
    """The texts of the options that it is, or itself, where these are long enough to tell anything."""
    for item in final:
        if form.kind == "letters":
            place = form.letters.find(item)
            item = normal_text(plain(form.options[place])) if 0 <= place < len(form.options) else ""
        if len(item) >= _TELLING or (item and not item.isascii()):
            yield item
