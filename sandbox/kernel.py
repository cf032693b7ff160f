"""What an isolated kernel is, whatever holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """What one kernel may use.

    Sizes in MB (10**6 bytes), times in seconds; `output_chars` and `output_messages` per cell. `memory_mb` is what the
    code may add to a kernel that stands idle, in one process (MemoryError) and in all together (the kernel dies);
    `cpu_seconds` is of each process, `processes` counts threads as well, `disk_mb` and `files` are of `/tmp`, where the
    work folder is. After `cell_seconds` the cell
    is interrupted, and `grace_seconds` later the kernel is killed.
    """

    memory_mb: int = 1024
    cpu_seconds: int = 300
    processes: int = 64
    disk_mb: int = 128
    files: int = 10_000
    open_files: int = 256
    output_chars: int = 20_000
    output_messages: int = 1_000
    cell_seconds: float = 60.0
    grace_seconds: float = 5.0
    start_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class RichOutput:
    """An output by MIME type (`image/png` as base64, `image/svg+xml` and `text/html` as inert text)."""

    mime: str
    data: str


@dataclass(frozen=True, slots=True)
class CellResult:
    """What came of one cell.

    `text` is what a person would see under the cell: streams, the last expression, a traceback without escape codes.
    `status`: `ok`; `error` (the code raised `error`); `timeout` (interrupted, the kernel lives and keeps its state);
    `died` (the kernel is gone, `error` says of what: `memory`, `files`, `time`, `exit`, `signal 11`; the next cell gets
    a fresh one). Nothing here is to be trusted as a measurement: the code inside can forge it.
    """

    status: Literal["ok", "error", "timeout", "died"]
    text: str
    error: str = ""
    truncated: bool = False
    rich: tuple[RichOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkFile:
    """A file that a kernel finds in its work folder when it starts; `name` is a plain file name. A `read_only` one has
    no write permission, against mistakes: code that runs as its owner can give it back."""

    name: str
    content: bytes
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend works on this machine; where not, `detail` says what is missing and `remedy` is the command
    that mends it. `versions` are those of Python and its packages inside, by name."""

    works: bool
    detail: str
    remedy: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


class Kernel(Protocol):
    """A running kernel with state between its cells; one cell at a time."""

    async def execute(self, code: str) -> CellResult: ...

    async def close(self) -> None:
        """Ends it; when this returns, no process, socket or folder of it is left."""
        ...


class KernelUnavailable(Exception):
    """No isolated kernel could be had. `code` is a stable word, `hint` says what to do, `retryable` whether to wait."""

    def __init__(self, message: str, *, hint: str = "", code: str = "unavailable", retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.retryable = retryable


class Sandbox(Protocol):
    """Starts isolated kernels. `name` is the backend's (`bubblewrap`, `docker`, `none`)."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    async def check(self) -> Availability:
        """Tries the backend for real, once, without leaving anything behind."""
        ...

    async def start(self, files: Sequence[WorkFile] = ()) -> Kernel:
        """A kernel that answers, with `files` in its work folder (again in the fresh one after a death); raises
        `KernelUnavailable`."""
        ...

    def release(self, kernel: Kernel) -> None:
        """Closes a kernel without waiting for its end; `close` waits for it."""
        ...

    async def close(self) -> None:
        """Ends all its kernels."""
        ...
