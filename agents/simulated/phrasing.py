"""What a simulated model writes."""

import random
from collections.abc import Sequence

from toolablate.agents.simulated.evidence import Finding

_BEFORE_CODE = ("Let me compute this.", "I will check this with a short program.", "A quick calculation should help.")
_BEFORE_SEARCH = ("Let me look this up.", "I will search for this.", "I should check the literature.")
_BEFORE_OPENING = ("I will read what was found.", "Let me open the most promising page.")
_FROM_MEMORY = ("From what I know of the matter, one answer stands out.", "This follows from first principles.")
_FROM_CODE = ("The program ended with this: {}", "The computation gives: {}")
_FROM_READING = ("What I found says: {}", "The sources have this: {}")
# Nothing here may hold a letter, a number or a choice's text that could be taken for an answer.
_CARELESS = (
    "I am fairly confident in my conclusion, as the reasoning above shows.",
    "It comes down to the point made above, and that settles it for me.",
)
_QUOTED_CHARACTERS = 160


def before_calls(kinds: Sequence[str], rng: random.Random) -> str:
    if "code" in kinds:
        return rng.choice(_BEFORE_CODE)
    return rng.choice(_BEFORE_OPENING if "open" in kinds else _BEFORE_SEARCH)


def final_reply(answer: str, seen: Sequence[Finding], rng: random.Random, *, careless: bool) -> str:
    """A short argument, then the answer in the form that is asked for, or so that it cannot be extracted."""
    useful = [finding for finding in seen if not finding.failed and finding.output.strip()]
    if careless:
        return rng.choice(_CARELESS)
    if not useful:
        return f"{rng.choice(_FROM_MEMORY)}\n\nAnswer: {answer}"
    last = useful[-1]
    lines = last.output.strip().splitlines()
    quoted = lines[-1] if last.kind == "code" else lines[min(1, len(lines) - 1)]
    argument = rng.choice(_FROM_CODE if last.kind == "code" else _FROM_READING)
    return f"{argument.format(quoted.strip()[:_QUOTED_CHARACTERS])}\n\nAnswer: {answer}"
