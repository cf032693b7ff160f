"""The tiers of answer extraction of Encyclo-K (section 4.2 of the paper), and where this departs from them."""

from collections.abc import Mapping, Sequence

from toolablate.benchmarks.encyclo_k.extraction.content import read_content
from toolablate.benchmarks.encyclo_k.extraction.numerals import (
    are_combinations,
    spelled_alike,
    without_numerals,
    without_others,
)
from toolablate.benchmarks.extraction.choices import NOT_A_CHOICE, read_announced, read_bare, read_refusal
from toolablate.benchmarks.extraction.denials import without_denials
from toolablate.benchmarks.extraction.loose import read_loose
from toolablate.benchmarks.extraction.markers import (
    before_another_question,
    before_next_question,
    final_part,
    is_announced,
)
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading
from toolablate.benchmarks.extraction.run_on import own_answer
from toolablate.benchmarks.extraction.wording import normalised, without_markup


def read_letter(reply: str | None, allowed: str, choices: Sequence[str] = ()) -> Reading:
    """The one letter that the reply commits to, as a tuple of one; or None with the reason.

    As in the paper, the last line is read first and then the whole text: standard forms ("the answer is: A"),
    simplified forms ("Answer: A"), isolated letters ("A", "(B)"); then the text of an option; else it is a miss.
    Other than in the paper,

    - of standard and simplified forms in one part the later counts, so that a reply may correct itself;
    - isolated letters and texts of options count only where they close the reply, since anywhere in the text they
      are mostly what is talked about;
    - a reply that names two letters, doubts, refuses, or names a letter beyond the options is a miss with that
      reason, and not its first letter;
    - a letter that is named to be denied ("if the answer is A", "closest to B, but it is wrong") is passed over;
    - a reply that goes on to answer other questions ends where it does so (`own_answer`).
    """
    text = without_denials(without_markup(final_part(reply or "")).strip())
    if not text:
        return Reading(None, EMPTY)
    combined = are_combinations(choices)
    if combined:
        choices = [spelled_alike(choice.strip()) for choice in choices]
        text = without_others(text, choices)
    texts = {letter: normalised(choice) for letter, choice in zip(allowed, choices, strict=False)}
    window = max(400, 2 * max(map(len, texts.values()), default=0))
    # A statement ("the correct one is I") is no answer yet; without numerals, the text is as long as before.
    own = own_answer(without_numerals(text) if combined else text, texts, window)
    text = before_next_question(text[: len(own)]).strip()
    reading = _read_tiers(text, allowed, texts, window, loose=without_numerals(text) if combined else text)
    if reading is None:
        return Reading(None, NOT_A_CHOICE if is_announced(text) else NO_ANSWER)
    if reading.value is not None and len(reading.value) > 1:
        return Reading(None, f"the reply names several letters: {', '.join(reading.value)}")
    return reading


def _read_tiers(text: str, allowed: str, texts: Mapping[str, str], window: int, *, loose: str) -> Reading | None:
    last = text.rpartition("\n")[2]
    if read_announced(last, allowed, texts, window) is None:
        reading = read_bare(text, allowed, texts)
        if reading is not None:
            return reading
    reading = read_refusal(text) or read_announced(text, allowed, texts, window) or read_loose(loose, allowed, texts)
    if reading is not None:
        return reading
    letter = read_content(before_another_question(text), texts)
    return Reading((letter,)) if letter else None
