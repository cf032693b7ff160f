"""Interventions of the user's own: a Python function of a result, and of options."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Generic, ParamSpec, TypeVar

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError

from toolablate.tools.function import by_parameter, outcome_of, parameters_of, plan_name, written_options
from toolablate.tools.interventions.intervention import Call, InterventionKind, OfCalls, Proceed
from toolablate.tools.text import one_line
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError, InternalError, SandboxError, ToolError
from toolablate.traces.records import InterventionUse

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FunctionIntervention(Generic[P, R]):
    """A function that a plan can name as an intervention. It can still be called as the function that it is.

    `options` is what the plan gives: the function's keyword-only parameters, and `tools` and `calls`, which say what
    calls it is for.
    """

    function: Callable[P, R]
    options: type[OfCalls]
    takes_call: bool

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def use(self, **options: object) -> InterventionUse:
        """For a condition made in Python: the same as a plan's `{ name = "module:function", options = {...} }`. Raises
        InputError for options that do not fit, and where no plan could name the function."""
        name = plan_name(self, self.function, "interventions")
        return InterventionUse(name=name, options=written_options(self.options, options, "interventions", name))

    def kind(self, name: str) -> InterventionKind[OfCalls]:
        """As a plan names it."""
        return InterventionKind(self.options, lambda options, _: _Applying(self, name, by_parameter(options)))


@dataclass(frozen=True, slots=True)
class _Applying:
    own: FunctionIntervention[..., Any]
    name: str
    fixed: dict[str, Any]

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        given = (result, call) if self.own.takes_call else (result,)
        value, error = await outcome_of(self.own.function, *given, **self.fixed)
        if isinstance(error, ToolError | SandboxError):
            raise error
        if error is not None:
            # It may quote the result, which is text from outside.
            raise self._bug(one_line(f"{type(error).__name__}: {error}", 300)) from error
        if isinstance(value, str):
            return replace(result, output=value)
        if not isinstance(value, ToolResult) or not isinstance(value.output, str):
            raise self._bug(f"it gave no ToolResult or str but {one_line(repr(value), 80)}")
        try:
            valid = _results().validate_python({each.name: getattr(value, each.name) for each in fields(value)})
        except ValidationError as wrong:
            first = wrong.errors(include_url=False)[0]
            found = one_line(repr(first["input"]), 80)
            raise self._bug(f"its ToolResult has {'.'.join(map(str, first['loc']))} = {found}") from None
        # What was asked of the web is no part of what is shown, and misses are counted by it.
        return replace(valid, lookup=valid.lookup or result.lookup)

    def _bug(self, what: str) -> InternalError:
        return InternalError(f"the intervention {self.name!r} failed: {what}", code="internal_error")


@lru_cache(maxsize=1)
def _results() -> TypeAdapter[ToolResult]:
    return TypeAdapter(ToolResult)


def intervention(function: Callable[P, R]) -> FunctionIntervention[P, R]:
    """Makes an intervention of a function, plain or async. A plain one runs in a thread of its own.

    Its first parameter is the `ToolResult` that came, a second, where there is one, the `Call`; keyword-only parameters
    are set by the plan's `options`. It gives a ToolResult, or a text in the place of the result's `output`, and that
    must depend on its parameters alone, or no replay could give it again; draws are made from `call.chance`. An
    exception is a bug, and fails the trial, but `ToolError` says that infrastructure failed. Raises InputError where
    the parameters are others, or have no type that JSON can carry.
    """
    name = function.__name__
    taken = parameters_of(function, "intervention", {})
    shown = [hint for hint, _ in taken.shown.values()]
    if shown not in ([ToolResult], [ToolResult, Call]):
        raise InputError(
            f"intervention {name!r}: it does not take a result, or a result and a call",
            hint="let its first parameters be `result: ToolResult` or `result: ToolResult, call: Call`, and put"
            " options behind a `*`",
            code="bad_intervention",
        )
    _refuse_scope(name, {field.alias for _, field in taken.fixed.values()})
    try:
        options = create_model(f"{name}_options", __base__=OfCalls, **taken.fixed)
    except PydanticUserError as error:
        raise InputError(f"intervention {name!r}: {one_line(str(error), 300)}", code="bad_intervention") from None
    return FunctionIntervention(function, options, takes_call=len(shown) > 1)


def _refuse_scope(name: str, options: set[str | None]) -> None:
    taken = sorted(OfCalls.model_fields.keys() & options)
    if taken:
        raise InputError(
            f"intervention {name!r}: an option cannot be called {taken[0]!r}",
            hint="`tools` and `calls` are options of all interventions: which calls they are for",
            code="bad_intervention",
        )
