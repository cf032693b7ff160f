from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """What one `agent` said or did."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that ended with a wrong answer.

    id        "hand_crafted/17": its set and its number there
    of_set    the name of the file that it comes from, without its ending
    question  asked in `task` under this id, which a run of another set may share
    answer    the right one
    level     of difficulty, as the question's source has it; "" where it has none
    agent     that made the decisive mistake, at `step`, counted from 0; `reason` says in an annotator's words what it
              was
    """

    id: str
    of_set: str
    question: str
    task: str
    answer: str
    level: str
    agent: str
    step: int
    reason: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Who is held to have made the decisive mistake, and at which step; None where nobody is named."""

    agent: str | None
    step: int | None
