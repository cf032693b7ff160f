"""Trials, their traces, and the runs that called for them."""

from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Literal, Self

from pydantic import Field

from toolablate.traces.records._base import ID_DIGITS, Record, TaggedRecord, digest_json
from toolablate.traces.records.events import Event, Usage

Outcome = Literal["answered", "budget", "failed"]


class Trial(TaggedRecord):
    """Question x model x condition x repeat, each by its digest. `id` is derived from the four."""

    version: Literal[1] = 1
    question: str
    model: str
    condition: str
    repeat: int = Field(default=0, ge=0)

    @cached_property
    def id(self) -> str:
        return digest_json([self.question, self.model, self.condition, self.repeat])

    @classmethod
    def repeated(cls, question: str, model: str, condition: str, repeats: int) -> list[Self]:
        """The trials 0 to `repeats` - 1 of three ids, as if each was validated, with their ids: a plan may call for a
        million, of which each takes as long as a third of that."""
        digests = question, model, condition
        if not all(map(str.isalnum, digests)):
            return [cls(question=question, model=model, condition=condition, repeat=each) for each in range(repeats)]
        # What `canonical_json` gives, up to the number.
        begun = sha256(f'["{question}","{model}","{condition}",'.encode())
        values = {"version": 1, "question": question, "model": model, "condition": condition}
        # One set of names for all: each would have a set of its own, of 216 bytes.
        pattern = cls.model_construct(set(values) - {"version"} | {"repeat"}, **values)
        found = []
        for repeat in range(repeats):
            digest = begun.copy()
            digest.update(b"%d]" % repeat)
            trial = cls.__new__(cls)
            # As pydantic's `model_construct` does.
            object.__setattr__(trial, "__dict__", {**values, "repeat": repeat, "id": digest.hexdigest()[:ID_DIGITS]})
            for slot in _SLOTS:
                object.__setattr__(trial, slot, getattr(pattern, slot))
            found.append(trial)
        return found


_SLOTS = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


class Environment(Record):
    """What a trial ran on: versions of software by name, how model-written code was held, and what search asked.

    `kernel_versions` are those of Python and its packages inside the sandbox, `kernel_environment` the environment
    variables that are fixed there.
    """

    versions: dict[str, str] = Field(default_factory=dict)
    sandbox: str = ""
    search: str = ""
    sandbox_limits: dict[str, float] = Field(default_factory=dict)
    kernel_versions: dict[str, str] = Field(default_factory=dict)
    kernel_environment: dict[str, str] = Field(default_factory=dict)


class Trace(TaggedRecord):
    """One attempt at a trial: its events and how it ended. `attempt` counts from 1.

    Outcomes: `answered`; `budget` (a limit was reached; the answer, if any, came from the last request); `failed`
    (infrastructure; never scored).
    """

    version: Literal[1] = 1
    trial: Trial
    attempt: int = Field(default=1, ge=1)
    outcome: Outcome
    started_at: datetime
    seconds: float = Field(ge=0)
    usage: Usage = Usage()
    cost_usd: float | None = None
    environment: Environment = Environment()
    events: tuple[Event, ...] = ()

    @property
    def scorable(self) -> bool:
        """Whether a scorer may look at it: what infrastructure spoiled is not scored."""
        return self.outcome != "failed"

    @property
    def answer(self) -> str | None:
        """The text of the final reply, or None where the trial ended without one."""
        return next((e.text for e in reversed(self.events) if e.kind == "answer"), None)


REPLIES = "replies"
"""The key of an environment's fingerprint that says whether models' replies are live, recorded or replayed."""


class ImportedLog(Record):
    """A log of another harness whose trials a store holds.

    `harness` is `inspect` or `lm-eval`, `log` what tells the log from others of that harness, `file` its name. `model`
    and `condition` are ids; of each of the log's `samples` the trial's repeat counts from `first_repeat`, which is
    above 0 where an earlier log has the same model and condition. `repeats` is how many it has of a question at most.
    """

    harness: str
    log: str
    file: str = ""
    model: str
    condition: str
    samples: int = Field(ge=0)
    first_repeat: int = Field(default=0, ge=0)
    repeats: int = Field(default=1, ge=1)


class Run(TaggedRecord):
    """One start of a plan: its text as it was, the names of its baseline and its scorers, and its trials'
    environment.

    `fingerprint` names what the tools stood on: `search` (a provider, with the digest of its corpus) and `sandbox`.
    `imported` are the logs that its trials come from, where no plan called for them; its plan is "" then. `tagged` are
    names that its user gave it.
    """

    version: Literal[1] = 1
    id: str
    started_at: datetime
    plan: str
    toolablate: str
    baseline: str = ""
    scorers: tuple[str, ...] = ()
    fingerprint: dict[str, str] = Field(default_factory=dict)
    imported: tuple[ImportedLog, ...] = ()
    tagged: tuple[str, ...] = ()
