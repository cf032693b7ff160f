"""A plan: which questions, models and conditions, how often, with what at hand; and the trials it calls for."""

import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticKnownError

from toolablate.benchmarks.builtin import BUILTIN_PLAYBOOK
from toolablate.benchmarks.prompt import not_in_part
from toolablate.benchmarks.questions import questions_of
from toolablate.benchmarks.registry import is_question_set
from toolablate.experiments.plans.conditions import ConditionEntry, LadderEntry, expanded, named, of_agents
from toolablate.experiments.plans.prices import names_a_file, open_prices, require_prices, with_prices
from toolablate.experiments.plans.sections import (
    ClusterSection,
    EmbeddingsSection,
    JudgeModel,
    JudgingSection,
    McpSection,
    PlaceboSection,
    RepliesSection,
    SearchSection,
    Section,
    WebSection,
    valid_plan,
    with_registered,
)
from toolablate.experiments.plans.written import (
    YAML,
    kept_text,
    plan_content,
    plan_text,
    require_file_of,
    take_env,
    with_values,
)
from toolablate.sandbox import BACKENDS, Limits
from toolablate.tools.own_source import class_source, code_source
from toolablate.tools.text import one_line
from toolablate.tools.user_code import package_of, registered
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.plugins import MISSING
from toolablate.traces.records import (
    AgentModel,
    Budget,
    Condition,
    LangChainModel,
    Model,
    Price,
    Question,
    RegisteredModel,
    ScriptedModel,
    SimulatedModel,
    Trial,
    digest_text,
)
from toolablate.traces.validation import why_unreadable

MAX_REPEATS = 10_000
MAX_TRIALS = 5_000_000
"""Those of a plan are all held in memory."""


def _backend(value: object) -> object:
    return {"backend": value} if isinstance(value, str) else value


class QuestionsSection(Section):
    """`file` is what holds the questions: a file or folder, "hf:OWNER/NAME" or "builtin"; `scorer` and `unparsed` say
    how replies are scored. `pattern` is a regular expression that finds the answer in a reply, for the scorer "regex".

    The files that questions bring lie in `folder`; "" stands for the folder of `file`, and for none where that is on no
    disk: what strangers published must not be able to name what lies beside a plan.
    """

    file: PathText = Field(min_length=1)
    folder: PathText = ""
    limit: int | None = Field(default=None, gt=0)
    scorer: str | None = None
    pattern: str = ""
    unparsed: Literal["wrong", "exclude"] = "wrong"

    @property
    def files_folder(self) -> Path:
        return Path(self.folder) if self.folder else Path(self.file).parent


class SandboxSection(Section):
    """`backend` holds the code that models write; "none" runs it unprotected and is recorded in every trace.

    The default is the best of the backends, whether or not it works on this machine: what holds a plan's code must not
    depend on where the plan is run. `pool` kernels are kept ready for the trials to come.
    """

    backend: str = BACKENDS[0]
    limits: Limits = Limits()
    pool: int = Field(default=2, ge=0, le=64)

    @field_validator("backend")
    @classmethod
    def _backend_is_known(cls, backend: str) -> str:
        if backend not in BACKENDS:
            allowed = ", ".join(map(repr, BACKENDS))
            raise ValueError(f"sandbox.backend: found {backend!r}, allowed is {allowed}")
        return backend

    @field_validator("limits")
    @classmethod
    def _limits_are_positive(cls, limits: Limits) -> Limits:
        for name, value in asdict(limits).items():
            if value <= 0:
                raise ValueError(f"sandbox.limits.{name}: must be greater than 0; found {value}")
        return limits


class RunnerSection(Section):
    """`kernels` is how many trials with a kernel may run at once, divided equally among the models; `attempts` how
    often a failing call is made; `trial_seconds` the most that a trial may last, waits included."""

    kernels: int = Field(default=4, gt=0)
    attempts: int = Field(default=4, gt=0)
    trial_seconds: float | None = Field(default=None, gt=0)


def _of_known_provider(model: object) -> object:
    provider = model.get("provider") if isinstance(model, dict) else None
    if provider is not None and not registered("providers"):
        raise ValueError(f"models: no provider is registered: {MISSING}")
    if isinstance(provider, str) and provider not in ("imported", "langgraph", *registered("providers")):
        expected = ", ".join(map(repr, registered("providers")))
        about = {"discriminator": "'provider'", "tag": one_line(provider, 80), "expected_tags": expected}
        raise PydanticKnownError("union_tag_invalid", about)
    return model


class Plan(Section):
    """A validated plan. Paths in it are absolute, or "builtin".

    `prices` is what says the price of a model that has none here: the price table ("genai-prices"), a file that goes
    before that table, or "none". `ladder` names toolsets all of whose arms are run, before the `conditions`. Of the
    `judges` the scores of the first count; the others grade the same answers.
    """

    name: str = Field(min_length=1, pattern=r"^[\w.-]+$")
    store: PathText
    seed: int = 0
    repeats: int = Field(default=1, gt=0, le=MAX_REPEATS)
    baseline: str = ""
    questions: QuestionsSection
    models: tuple[Annotated[Model, BeforeValidator(_of_known_provider)], ...] = Field(min_length=1)
    judges: tuple[JudgeModel, ...] = ()
    judging: JudgingSection = JudgingSection()
    conditions: tuple[Annotated[ConditionEntry, BeforeValidator(named)], ...] = ()
    ladder: tuple[Annotated[LadderEntry, BeforeValidator(named)], ...] = ()
    budget: Budget = Budget()
    prices: PathText = Field(default=Price.table, min_length=1)
    sandbox: Annotated[SandboxSection, BeforeValidator(_backend)] = SandboxSection()
    search: SearchSection | None = None
    web: WebSection = WebSection()
    mcp: tuple[McpSection, ...] = ()
    replies: RepliesSection = RepliesSection()
    embeddings: EmbeddingsSection | None = None
    placebo: PlaceboSection = PlaceboSection()
    runner: RunnerSection = RunnerSection()
    cluster: ClusterSection | None = None
    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """Where it stands, or stood."""
        return self._file

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        for key, names in (
            ("models", [model.name for model in self.models]),
            ("judges", [model.name for model in self.judges]),
            ("conditions", [entry.name for entry in self.conditions]),
            ("ladder", [entry.name for entry in self.ladder]),
            ("mcp", [server.name for server in self.mcp]),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{key}: the name {sorted(twice)[0]!r} is used twice; names must be distinct")
        return self

    @model_validator(mode="after")
    def _the_mapper_is_a_judge(self) -> Self:
        names = [model.name for model in self.judges]
        if self.judging.mapper and self.judging.mapper not in names:
            known = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"judging.mapper: {self.judging.mapper!r} is the name of no judge; there are {known}")
        return self

    @model_validator(mode="after")
    def _there_is_a_condition(self) -> Self:
        if not self.conditions and not self.ladder:
            raise ValueError('conditions: missing; name some, as in conditions = ["none", "python"], or a ladder')
        return self

    def with_changes(self, *, store: Path | None = None, limit: int | None = None) -> Self:
        """The plan with what a command line overrides; None leaves a part as it is."""
        questions = self.questions.model_copy(update={"limit": limit} if limit else {})
        return self.model_copy(update={"questions": questions, "store": str(store) if store else self.store})

    def on_cluster(self, address: str | None) -> Self:
        """The plan with its trials at another address of a cluster, or on this machine ("none"); None leaves it as it
        is. Raises InputError."""
        if address is None:
            return self
        if address == "none":
            return self.model_copy(update={"cluster": None})
        given = {**(self.cluster.model_dump() if self.cluster else {}), "address": address}
        return self.model_copy(update={"cluster": valid_plan(ClusterSection, given, Path("--cluster"))})

    def resolved_conditions(self) -> tuple[Condition, ...]:
        """The conditions in full, those of ladders first. Raises InputError for a condition that cannot be had, for two
        of one name or one content, and for a baseline that is none of them."""
        conditions = expanded(self.ladder, self.conditions, self.budget)
        names = [condition.name for condition in conditions]
        if self.baseline and self.baseline not in names:
            raise InputError(
                f"baseline: {self.baseline!r} is not one of the conditions; those are {', '.join(names)}",
                code="no_baseline",
            )
        return conditions


C = TypeVar("C")


def load_plan(path: Path, values: Mapping[str, Any] | None = None) -> tuple[Plan, str]:
    """Reads a plan; relative paths in it are relative to its folder. Returns it with its text: with `values` in the
    places of their keys, the text of what it then is.

    Prices that the plan leaves out are filled in here, once, so that a trial keeps what it cost on its day.

    Raises InputError that names the key, what was found and what is allowed.
    """
    text = plan_text(path)
    content = plan_content(text, path)
    if values or path.suffix.lower() in YAML:
        with_values(content, values or {})
        text = kept_text(content)
    return plan_of(content, path), text


def read_plan(text: str, path: Path) -> Plan:
    """The plan that stands, or stood, at `path` with this text. Raises InputError as `load_plan` does."""
    take_env(path.parent)
    return plan_of(plan_content(text, path), path)


def plan_of(content: Mapping[str, Any], path: Path) -> Plan:
    """The plan with this content, as of a file at `path`. Raises InputError as `load_plan` does."""
    require_file_of("run", content, path)
    name = content.get("name", path.stem)
    plan = valid_plan(Plan, {"name": name, "store": f"runs/{name}.sqlite", **content}, path)
    if any(isinstance(model, AgentModel) for model in plan.models):
        own = {"conditions": tuple(map(of_agents, plan.conditions)), "ladder": tuple(map(of_agents, plan.ladder))}
        plan = plan.model_copy(update=own)
    known = _known_conditions(plan)
    plan = _anchored(plan.model_copy(update={"mcp": with_registered(plan.mcp, known)}), path.parent.resolve())
    sources = open_prices(plan.prices)
    require_prices(path, plan.models, known, sources)
    priced = {"models": with_prices(plan.models, sources), "judges": with_prices(plan.judges, sources)}
    plan = plan.model_copy(update=priced)
    plan._file = path
    return plan


def plan_at(
    path: Path, *, store: Path | None = None, limit: int | None = None, values: Mapping[str, Any] | None = None
) -> tuple[Plan, str]:
    """The plan of a file, which may name modules beside it, with what a command line or a caller overrides, and its
    text. Raises InputError as `load_plan` does."""
    find_modules_beside(path)
    plan, text = load_plan(path, values)
    return plan.with_changes(store=store, limit=limit), text


# What plans of other kinds share with it.


def _known_conditions(plan: Plan) -> list[Condition]:
    """Those that can be had; what is wrong with the others is told when all of them are resolved."""
    known: list[Condition] = []
    for entry in plan.conditions:
        with suppress(InputError):
            known.append(entry.resolve(plan.budget))
    for toolset in plan.ladder:
        with suppress(InputError):
            known += toolset.expand(plan.budget)
    return known


def find_modules_beside(path: Path) -> None:
    """Lets what the plan names of the user's own be in modules beside it; behind what is installed, so that none hides
    that, and before the folders of other plans. Call it before the plan is loaded."""
    folder = str(path.parent.resolve())
    place = len(sys.path)
    while place and sys.path[place - 1] in _beside:
        place -= 1
    sys.path[place:] = [folder, *(other for other in sys.path[place:] if other != folder)]
    _beside.add(folder)


_beside: set[str] = set()


def _anchored(plan: Plan, folder: Path) -> Plan:
    def anchor(path: str) -> str:
        return path if path == "builtin" else str(folder / path)

    in_place = plan.questions.file.startswith("hf:") or is_question_set(plan.questions.file)
    return plan.model_copy(
        update={
            "store": anchor(plan.store),
            "prices": str(folder / plan.prices) if names_a_file(plan.prices) else plan.prices,
            "questions": plan.questions.model_copy(
                update={
                    "file": plan.questions.file if in_place else str(folder / plan.questions.file),
                    "folder": plan.questions.folder and str(folder / plan.questions.folder),
                }
            ),
            "search": plan.search
            and plan.search.model_copy(update={"corpus": plan.search.corpus and anchor(plan.search.corpus)}),
            "web": plan.web.model_copy(update={"archive": plan.web.archive and str(folder / plan.web.archive)}),
            "placebo": plan.placebo.model_copy(
                update={"store": plan.placebo.store and str(folder / plan.placebo.store)}
            ),
            "replies": plan.replies.model_copy(update={"file": str(folder / plan.replies.file)}),
            "cluster": plan.cluster
            and plan.cluster.model_copy(update={"backup": plan.cluster.backup and str(folder / plan.cluster.backup)}),
            "mcp": tuple(
                server.model_copy(update={"folder": str(folder / server.folder)}) if server.command else server
                for server in plan.mcp
            ),
            "models": tuple(with_source(model, folder, "models") for model in plan.models),
            "judges": tuple(with_source(model, folder, "judges") for model in plan.judges),
        }
    )


def with_source(model: Model, folder: Path, section: str) -> Model:
    """Fills in the digest of the file that a scripted or simulated model reads: its replies are part of what it is; and
    the package or the module that another provider's model comes from."""
    key = f"{section}: {model.name}"
    if isinstance(model, RegisteredModel):
        return model.model_copy(update={"package": package_of(model.provider, "providers")})
    if isinstance(model, LangChainModel):
        return model.model_copy(update=class_source(model.module, folder))
    if isinstance(model, AgentModel):
        return model.model_copy(update=code_source(model.module, folder))
    if isinstance(model, ScriptedModel):
        script = folder / model.script
        return model.model_copy(update={"script": str(script), "script_digest": file_digest(script, key)})
    if isinstance(model, SimulatedModel) and model.scenarios:
        scenarios = folder / model.scenarios
        return model.model_copy(update={"scenarios": str(scenarios), "scenarios_digest": file_digest(scenarios, key)})
    if isinstance(model, SimulatedModel) and model.playbook:
        playbook = BUILTIN_PLAYBOOK if model.playbook == "builtin" else folder / model.playbook
        return model.model_copy(update={"playbook": str(playbook), "playbook_digest": file_digest(playbook, key)})
    return model


def file_digest(path: Path, key: str) -> str:
    """Digest of a text file that a plan names under `key`. Raises InputError."""
    try:
        return digest_text(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{key}: cannot read {path}: {why_unreadable(error)}", code="unreadable_source") from None


# From a plan to the trials it calls for.


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial with what its digests stand for."""

    trial: Trial
    question: Question
    model: Model
    condition: Condition


@dataclass(frozen=True, slots=True)
class Design:
    """A plan with everything read in: the trials in the order in which they are run."""

    questions: tuple[Question, ...]
    models: tuple[Model, ...]
    conditions: tuple[Condition, ...]
    trials: tuple[PlannedTrial, ...]


@dataclass(frozen=True, slots=True)
class Only:
    """The part of a plan that is run: these conditions by name, these questions by id; all where none are named."""

    conditions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def design(plan: Plan, only: Only = Only()) -> Design:
    """Reads the questions and expands the plan, or a part of it: questions x models x conditions x repeats.

    The order is random and seeded, so that a drift of an endpoint hits all conditions alike. Raises InputError, also
    for more trials than can be held, and for a name in `only` that the plan has not.
    """
    every = all_questions(plan)[: plan.questions.limit]
    questions = _chosen("--question", only.questions, {question.id: question for question in every}) or every
    conditions = plan.resolved_conditions()
    conditions = _chosen("--condition", only.conditions, {each.name: each for each in conditions}) or conditions
    count = len(questions) * len(plan.models) * len(conditions) * plan.repeats
    if count > MAX_TRIALS:
        raise InputError(
            f"repeats: the plan calls for {count:,} trials, and {MAX_TRIALS:,} are the most;"
            " lower `repeats` or set `limit` under [questions]",
            code="too_many_trials",
        )
    trials = _expand(questions, plan.models, conditions, plan.repeats)
    random.Random(plan.seed).shuffle(trials)  # noqa: S311 - an order, not a secret
    return Design(questions, plan.models, conditions, tuple(trials))


def _chosen(option: str, names: Sequence[str], there: Mapping[str, C]) -> tuple[C, ...]:
    """In the order of the plan."""
    for name in names:
        if name not in there:
            near = get_close_matches(name, there, n=1)
            few = ", ".join(one_line(each, 80) for each in list(there)[:10]) + (", ..." if len(there) > 10 else "")
            raise InputError(
                f"{option}: the plan has no {option.removeprefix('--')} {one_line(name, 80)!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"it has {few}",
                code=f"unknown_{option.removeprefix('--')}",
            )
    return tuple(each for name, each in there.items() if name in names)


def all_questions(plan: Plan) -> tuple[Question, ...]:
    """All of the plan's file, however few of them are run. Raises InputError, which names the key where there is no
    such file."""
    try:
        return questions_of(plan.questions.file, folder=plan.questions.files_folder)
    except InputError as error:
        if error.code != "unreadable":
            raise
        raise InputError(f"questions.file: {error.message}", hint=error.hint, code=error.code) from None


def _expand(
    questions: Sequence[Question], models: Sequence[Model], conditions: Sequence[Condition], repeats: int
) -> list[PlannedTrial]:
    question_ids = [question.identity() for question in questions]
    model_ids = [model.identity() for model in models]
    condition_ids = [condition.identity() for condition in conditions]
    return [
        PlannedTrial(trial, question, model, condition)
        for question_id, question in zip(question_ids, questions, strict=True)
        for model_id, model in zip(model_ids, models, strict=True)
        for condition_id, condition in zip(condition_ids, conditions, strict=True)
        if not not_in_part(question, condition.shown)
        for trial in Trial.repeated(question_id, model_id, condition_id, repeats)
    ]
