"""What records one attempt at a trial."""

from typing import Any

from pydantic import TypeAdapter

from toolablate.traces.errors import StoreError
from toolablate.traces.records import (
    Event,
    Outcome,
    Trace,
    Usage,
    canonical_json,
    clean_text,
    digest_json,
    digest_text,
)
from toolablate.traces.store.content.digests import combined_digest, header_content, record_content
from toolablate.traces.store.writing import attempts
from toolablate.traces.store.writing.writer import Writer

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class TrialRecorder:
    """Records one attempt at a trial."""

    def __init__(self, writer: Writer, attempt: attempts.Attempt) -> None:
        self._writer = writer
        self._attempt = attempt
        self._events: list[Event] = []
        self._digests: list[str] = []
        self._finished = False

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded so far."""
        return tuple(self._events)

    def record(self, event: Event) -> None:
        """Queues an event, which is committed within milliseconds; does not wait for it.

        Lone surrogates, which no file can hold, become U+FFFD. Raises StoreError where writing has failed.
        """
        self._require_open()
        content = record_content(event)
        text = canonical_json(content)
        try:
            digest = digest_text(text)
        except UnicodeEncodeError:
            event = _EVENT.validate_python(_cleaned(content))
            content = record_content(event)
            digest = digest_json(content)
        self._writer.submit(attempts.event(self._attempt, len(self._events), content), chars=len(text))
        self._events.append(event)
        self._digests.append(digest)

    async def finish(
        self,
        outcome: Outcome,
        seconds: float,
        usage: Usage | None = None,
        cost_usd: float | None = None,
    ) -> Trace:
        """Ends the attempt, atomically; when this returns, the trace is on the disk.

        Raises StoreError where it could not be written.
        """
        self._require_open()
        self._finished = True
        trace = Trace(
            trial=self._attempt.trial,
            attempt=self._attempt.number,
            outcome=outcome,
            started_at=self._attempt.started_at,
            seconds=seconds,
            usage=usage or Usage(),
            cost_usd=cost_usd,
            environment=self._attempt.environment,
            events=tuple(self._events),
        )
        digest = combined_digest(header_content(trace), self._digests)
        end = attempts.finish(self._attempt, trace, digest)
        await self._writer.settle(self._writer.submit(end, durable=True))
        return trace

    def _require_open(self) -> None:
        if self._finished:
            raise StoreError(f"The attempt at trial {self._attempt.trial.id} is finished already", code="finished")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
