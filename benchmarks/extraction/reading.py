from dataclasses import dataclass

EMPTY = "the reply is empty"
NO_ANSWER = "no answer is announced"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from a reply: letters, spans or one exact number ("18", "-1/3"); or None and the reason why."""

    value: tuple[str, ...] | None
    reason: str = ""
