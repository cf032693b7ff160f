"""What driver and workers say to each other. Every message about a trial names the attempt, so that what comes late is
known to be late."""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from toolablate.agents import AgentResult
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.runner import as_internal
from toolablate.traces.errors import ModelError, ToolablateError
from toolablate.traces.records import Environment, Event, Usage
from toolablate.traces.store.digests import Written


class Attempt(NamedTuple):
    """One try at a trial; no two of a run have the same `number`."""

    trial: str
    number: int


# What is said for each event and request is a tuple: to unpickle a frozen dataclass takes ten times as long.

# From the driver to a worker.


@dataclass(frozen=True, slots=True)
class Shared:
    """What many trials need: is sent to a worker once, before the first of them. `digest` is what they call it."""

    digest: str
    packed: bytes


@dataclass(frozen=True, slots=True)
class Forget:
    """No trial needs what is shared under these digests any more."""

    digests: frozenset[str]


@dataclass(frozen=True, slots=True)
class Start:
    attempt: Attempt
    planned: PlannedTrial


@dataclass(frozen=True, slots=True)
class Cancel:
    attempt: Attempt


class Answered(NamedTuple):
    """To who `Enters`: a place in line; to who `Asks`: what was asked for. Or why there is none."""

    attempt: Attempt
    ticket: int
    answer: object


# From a worker to the driver.


@dataclass(frozen=True, slots=True)
class Ready:
    """It has opened what trials need. `name` is for people: the machine and the process."""

    name: str
    environment: Environment


@dataclass(frozen=True, slots=True)
class Refused:
    """No trial can be run there."""

    name: str
    error: ToolablateError


class Recorded(NamedTuple):
    """An event and what the store keeps of it, as the attempt's `Packer` has packed them; `number` counts those of the
    attempt."""

    attempt: Attempt
    number: int
    packed: bytes


class Enters(NamedTuple):
    """A request waits for its place in `line`; `ticket` is what it is known by. One that is `blocking` keeps other
    requests of its agent from giving up their places."""

    attempt: Attempt
    ticket: int
    line: str
    tokens: float
    most: int | None
    first: bool
    blocking: bool = False


class Asks(NamedTuple):
    """A tool or model wants what only the driver has; who no longer wants it `Tells` that it leaves."""

    attempt: Attempt
    ticket: int
    service: str
    arguments: tuple[object, ...]


class Tells(NamedTuple):
    """What became of a request that has its place, or no longer wants one: as the methods of a `Line` are called."""

    attempt: Attempt
    ticket: int
    what: Literal["sent", "leave", "replied", "refused", "unreached"]
    usage: Usage | None = None
    error: ModelError | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The result, what the trial failed with, or None where it was cancelled."""

    attempt: Attempt
    result: AgentResult | Exception | None


ToWorker = Shared | Forget | Start | Cancel | Answered
OfTrial = Recorded | Enters | Asks | Tells | Ended
ToDriver = Ready | Refused | OfTrial


class WorkerLost(Exception):
    """Nothing more will be heard of this worker."""


class WorkerSetupError(WorkerLost):
    """What a worker is made of is not where it was to be started, and would not be the next time; `args` are why, and
    where, for people."""


class Channel(Protocol):
    """One worker, as the driver sees it."""

    async def put(self, messages: Sequence[ToWorker]) -> None:
        """Raises WorkerLost."""
        ...

    async def take(self) -> Sequence[ToDriver]:
        """What the worker has to say, in order; nothing where it has been silent for some seconds. What it says fast is
        held back until this is called again. Raises WorkerLost."""
        ...

    def place(self) -> str:
        """Where it was started, as its engine calls it; nothing where that is not known. May take seconds: is
        called in a thread."""
        ...

    async def close(self) -> None:
        """Ends the worker and whatever it has started; never raises."""
        ...


# The messages of a conversation are in the event of each request. Pickled one by one, fifty events are ten times as
# large as with one memo for all.


class Packer:
    """Packs the objects of one attempt; what was packed before is referred to."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._pickler = pickle.Pickler(self._buffer, pickle.HIGHEST_PROTOCOL)

    def pack(self, event: Event, written: Written) -> bytes:
        self._pickler.dump((event, written))
        packed = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return packed


class Unpacker:
    """Unpacks what one `Packer` has packed: all of it, in order."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._unpickler = pickle.Unpickler(self._buffer)  # noqa: S301 - of a worker that runs our own code

    def unpack(self, packed: bytes) -> tuple[Event, Written]:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._buffer.write(packed)
        self._buffer.seek(0)
        found: tuple[Event, Written] = self._unpickler.load()
        return found


def crossing(error: BaseException) -> ToolablateError:
    """The error as it can be sent. One of a file here is none of the driver's store, which would end the run."""
    if not isinstance(error, ToolablateError) or error.boundary == "store":
        return as_internal(error)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - whatever keeps a class, or what it has, from being pickled
        return _plain(error)
    return error


def _plain(error: ToolablateError) -> ToolablateError:
    """What a boundary's own error says, without what a class of others adds."""
    kind: type[ToolablateError] = next(each for each in type(error).__mro__ if each.__module__ == _ERRORS)
    plain = kind(
        f"{type(error).__name__}: {error.message}",
        hint=error.hint,
        code=error.code,
        retryable=error.retryable,
        retry_after=error.retry_after,
    )
    if isinstance(plain, ModelError) and isinstance(error, ModelError):
        plain.limit_of = error.limit_of
    return plain


_ERRORS = ToolablateError.__module__
