"""Every error names the boundary that was crossed and what to do about it.

ToolablateError
├── InputError            a plan, question file or command the user can mend
├── StoreError            the store cannot be opened, read or written
├── ModelError            the endpoint, not the model's knowledge, failed
├── ToolError             a tool's own infrastructure failed (not: the model used it wrongly)
├── SandboxError          no isolated kernel could be had
├── ScoringError          a scorer cannot be built or run
└── InternalError         a bug, in toolablate or in a tool of the user's
"""

from typing import Any, ClassVar, Literal

Boundary = Literal["input", "model", "tool", "sandbox", "scoring", "store", "runner"]


class ToolablateError(Exception):
    """Base of all errors that a user is meant to read.

    `message` says what happened, `hint` what to do; `code` is a stable word for programs (`rate_limited`);
    `retryable` says whether the same attempt may succeed later; `retry_after` is the wait that the other side asked
    for, in seconds.
    """

    boundary: ClassVar[Boundary] = "input"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or type(self).__name__.removesuffix("Error").lower()
        self.retryable = retryable
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it has, whatever else a class wants to be made: errors travel between processes."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[ToolablateError], args: tuple[Any, ...], state: dict[str, Any]) -> ToolablateError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(ToolablateError):
    """`key` is what is wrong of the table of a plan that it is about, "" where it is about no table."""

    boundary = "input"
    key: str = ""


class StoreError(ToolablateError):
    boundary = "store"


class ModelError(ToolablateError):
    """`limit_of` is whose limit an endpoint says that a request met: the `key`'s, so that other models with this key
    meet it too, the `model`'s, or "" where it does not say."""

    boundary = "model"
    limit_of: Literal["", "key", "model"] = ""


class ToolError(ToolablateError):
    boundary = "tool"


class SandboxError(ToolablateError):
    boundary = "sandbox"


class ScoringError(ToolablateError):
    boundary = "scoring"


class InternalError(ToolablateError):
    boundary = "runner"
