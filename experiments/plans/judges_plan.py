"""What commands read of a plan that ask its judges and run no trial."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from toolablate.experiments.plans.plan import RunnerSection, with_source
from toolablate.experiments.plans.prices import names_a_file, open_prices, with_prices
from toolablate.experiments.plans.sections import (
    EmbeddingsSection,
    JudgeModel,
    JudgingSection,
    RepliesSection,
    Section,
    valid_plan,
)
from toolablate.experiments.plans.written import plan_content, plan_text
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.records import Model, Price


class JudgesPlan(Section):
    """What `clear` reads of a plan: whom it asks and how. Other sections of a whole plan are ignored."""

    judges: tuple[JudgeModel, ...] = Field(min_length=1)
    prices: PathText = Field(default=Price.table, min_length=1)
    judging: JudgingSection = JudgingSection()
    replies: RepliesSection = RepliesSection()
    runner: RunnerSection = RunnerSection()

    @property
    def models(self) -> tuple[Model, ...]:
        return ()

    @model_validator(mode="after")
    def _judges_are_there(self) -> Self:
        names = [judge.name for judge in self.judges]
        if len(set(names)) < len(names):
            raise ValueError("judges: two have one name; names must be distinct")
        if self.judging.mapper not in ("", *names):
            raise ValueError(f"judging.mapper: there is no judge {self.judging.mapper!r}; there are {', '.join(names)}")
        return self

    def judge(self, name: str, option: str) -> JudgeModel:
        """The judge of this name. Raises InputError."""
        for judge in self.judges:
            if judge.name == name:
                return judge
        there = ", ".join(judge.name for judge in self.judges)
        raise InputError(f"{option} {name}: the plan has no such judge", hint=f"It has {there}.", code="unknown_judge")


def load_judges(path: Path) -> JudgesPlan:
    """Reads the sections on judges of a plan, whole or not; paths in it are relative to its folder. Prices that
    it leaves out are filled in. Raises InputError that names the key, what was found and what is allowed."""
    content = plan_content(plan_text(path), path)
    if not content.get("judges"):
        raise InputError(
            f"{path}: judges: missing",
            hint='put a table [[judges]] into the plan, with provider = "openai", a name and an endpoint',
            code="no_judge",
        )
    plan = valid_plan(JudgesPlan, {key: content[key] for key in JudgesPlan.model_fields if key in content}, path)
    folder = path.parent.resolve()
    prices = str(folder / plan.prices) if names_a_file(plan.prices) else plan.prices
    judges = with_prices((with_source(judge, folder, "judges") for judge in plan.judges), open_prices(prices))
    replies = plan.replies.model_copy(update={"file": str(folder / plan.replies.file)})
    return plan.model_copy(update={"judges": judges, "prices": prices, "replies": replies})


class GroupingPlan(Section):
    """Who helps to group failures: an endpoint that makes vectors of texts, and judges that name groups."""

    embeddings: EmbeddingsSection | None = None
    judges: tuple[object, ...] = ()


def load_grouping(path: Path) -> GroupingPlan:
    """Raises InputError where the plan has neither."""
    content = plan_content(plan_text(path), path)
    plan = valid_plan(GroupingPlan, {key: content[key] for key in GroupingPlan.model_fields if key in content}, path)
    if plan.embeddings is None and not plan.judges:
        raise InputError(
            f"{path}: it has neither [embeddings] nor [[judges]]",
            hint="an embedding endpoint groups by the meaning of texts, a judge names the groups",
            code="no_judge",
        )
    return plan
