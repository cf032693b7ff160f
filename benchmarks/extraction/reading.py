import unicodedata
from dataclasses import dataclass

EMPTY = "the reply is empty"
NO_ANSWER = "no answer is announced"

SEEN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from a reply: letters, spans or one exact number ("18", "-1/3"); or None and the reason why."""

    value: tuple[str, ...] | None
    reason: str = ""


def unread(reason: str, text: str) -> Reading:
    """Nothing read, for a reason that shows the first line of the text that stood there."""
    line = text.strip().partition("\n")[0].strip()
    shown = line if len(line) <= SEEN_CHARS else f"{line[:SEEN_CHARS]}..."
    return Reading(None, f"{reason}: {shown!r}" if shown else reason)


def normalised(text: str) -> str:
    """What texts are compared as: NFKC (full and half width alike), no case, runs of blanks as one blank, no quotes
    around and no full stop after."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.strip("\"'“”‘’ ").rstrip(".。 ")
