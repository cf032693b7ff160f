"""The results under other questions that a plan's placebos show: where they come from, and whether there are any."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.agents.session import OUT_OF_TIME
from toolablate.experiments.plans.plan import Plan, all_questions
from toolablate.tools import TOOLSETS, Resources, mcp_servers_needed, of_agent, resources_needed, tool_sources
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Condition, Question, ToolCall, digest_json
from toolablate.traces.store import Store

# Few plans have placebos, whose sources know search results and pages.
if TYPE_CHECKING:
    from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources

MOST_RESULTS = 4_000
MOST_CHARS = 20_000_000
"""What is kept of a store at most, in results and in characters; of a larger one some trials are drawn by their ids."""

_BUILT_IN = frozenset(name for names in TOOLSETS.values() for name in names)
_REMEDY = 'name the store of an earlier run with these tools: [placebo] store = "pilot.sqlite"'


def placebo_fingerprint(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """Where placebos come from, by name; nothing where no condition has any. Raises InputError where they can come from
    nowhere, StoreError for a store that cannot be read."""
    with_placebo = [condition for condition in conditions if _has(condition, "placebo")]
    if not with_placebo:
        return {}
    if plan.placebo.store:
        source = f"store/{_store_digest(plan)[:12]}"
    else:
        for condition in with_placebo:
            _require_other_sources(condition)
        source = "questions"
    from toolablate.tools.placebo_sources import bank_digest

    runs_code = any("sandbox" in resources_needed(condition.tools) for condition in with_placebo)
    return {"placebo": f"{source} + bank/{bank_digest()[:12]}" if runs_code else source}


def draws_from_questions(conditions: Sequence[Condition]) -> bool:
    """Whether trials under any of these show something of other questions of the plan's file."""
    return any(_has(condition, name) for condition in conditions for name in ("placebo", "adversarial"))


async def open_placebo_sources(
    plan: Plan, conditions: Sequence[Condition], resources: Resources, questions: Sequence[Question] | None = None
) -> "PlaceboSources | None":
    """For the placebos of these conditions, and for the wrong answers of adversaries; None where there are neither.
    `questions` are all of the plan's file, where they are read by now. Raises InputError for questions or a store that
    cannot be read, and for a question without a wrong answer."""
    if not draws_from_questions(conditions):
        return None
    with_placebo = any(_has(condition, "placebo") for condition in conditions)
    from toolablate.tools.interventions.substitutes import refuse_without_wrong_answer
    from toolablate.tools.placebo_sources import PlaceboSources

    kept: Mapping[str, Sequence[PlaceboSource]] = {}
    if with_placebo and plan.placebo.store:
        try:
            kept = await asyncio.to_thread(read_results, Path(plan.placebo.store))
        except StoreError as error:
            raise InputError(f"placebo.store: {error.message}", hint=error.hint, code="bad_placebo_source") from error
    if questions is None:
        questions = await asyncio.to_thread(all_questions, plan)
    asked = questions[: plan.questions.limit]
    if any(_has(condition, "adversarial") for condition in conditions):
        refuse_without_wrong_answer(asked, questions)
    if resources.documents is not None:
        resources.documents.add(questions)
    return PlaceboSources(questions, kept, resources.search, resources.pages, asked, resources.documents)


def require_results(condition: Condition, tools: Sequence[str], sources: "PlaceboSources | None") -> None:
    """Refuses placebos of tools, as a model knows them, that no question could give any: raises InputError."""
    if sources is None or not _has(condition, "placebo"):
        return
    for tool in tools:
        if tool == "python":
            continue
        built_in = tool in _BUILT_IN
        if tool not in sources.kept and not built_in:
            raise InputError(
                f"placebo.store: holds no result of {one_line(tool, 80)!r}, of which condition {condition.name!r}"
                " shows placebos",
                hint=_REMEDY,
                code="no_placebo_source",
            )
        if (alone := sources.without(tool, from_questions=built_in)) is not None:
            raise InputError(
                f"conditions: {condition.name}: no placebo of {tool!r} for the question {one_line(alone.id, 80)!r}:"
                " every other question shares its prompt or its cluster",
                hint=f"add questions of other clusters, or {_REMEDY}",
                code="no_placebo_source",
            )


def read_results(store: Path) -> "dict[str, list[PlaceboSource]]":
    """What tools gave in the finished trials of a store, by tool, as they gave it: no result that anything had changed,
    none of a call that did not fit. Raises StoreError."""
    found: dict[str, list[PlaceboSource]] = defaultdict(list)
    results = chars = 0
    with Store(store) as opened:
        questions = {question.identity(): question for question in opened.questions()}
        for trial in sorted(opened.finished_trials()):
            trace = opened.trace(trial)
            for tool, candidate in _results(trace.events, questions[trace.trial.question]):
                found[tool].append(candidate)
                results, chars = results + 1, chars + len(candidate.output)
            if results >= MOST_RESULTS or chars >= MOST_CHARS:
                break
    return dict(found)


def _results(events: Sequence[object], question: Question) -> "Iterator[tuple[str, PlaceboSource]]":
    from toolablate.tools.placebo_sources import PlaceboSource

    for event in events:
        if not isinstance(event, ToolCall) or event.status == "invalid" or event.changes or event.by_provider:
            continue
        # A call that the time of its trial ran out under says so in words that are not the tool's.
        if event.error != OUT_OF_TIME:
            error = event.error or "error" if event.status == "error" else ""
            yield event.call.name, PlaceboSource(question.id, event.output, error, question.prompt, question.cluster)


def _has(condition: Condition, intervention: str) -> bool:
    return any(use.name == intervention for use in condition.interventions)


def _store_digest(plan: Plan) -> str:
    """Of the trials that are finished there: each has given its results for good."""
    store = Path(plan.placebo.store)
    if store.resolve() == Path(plan.store).resolve():
        raise InputError(
            "placebo.store: it is the store that this plan writes; an earlier run's store is needed",
            hint="run the conditions without placebos into a store of their own first (--store), and name that",
            code="bad_placebo_source",
        )
    if not store.exists():
        raise InputError(f"placebo.store: there is no store at {store}", hint=_REMEDY, code="bad_placebo_source")
    try:
        with Store(store) as opened:
            return digest_json(sorted(opened.finished_trials()))
    except StoreError as error:
        raise InputError(f"placebo.store: {error.message}", hint=error.hint, code="bad_placebo_source") from None


def _require_other_sources(condition: Condition) -> None:
    """Without a store only the web and the bank of programs have results under other questions."""
    own = [*tool_sources(condition.tools), *(f"mcp:{name}" for name in mcp_servers_needed(condition.tools))]
    own += [use.name for use in condition.tools if of_agent(use.name) is not None]
    if own:
        raise InputError(
            f"placebo.store: missing; condition {condition.name!r} has placebos of {one_line(own[0], 80)!r}, whose"
            " results for other questions only an earlier run can give",
            hint=_REMEDY,
            code="no_placebo_source",
        )
    if "pages" in (parts := resources_needed(condition.tools)) and "search" not in parts:
        raise InputError(
            f"placebo.store: missing; condition {condition.name!r} has placebos of pages and no search tool to"
            " find pages for other questions",
            hint=f"{_REMEDY}; or give the condition the toolset `search`",
            code="no_placebo_source",
        )
