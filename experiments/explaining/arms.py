"""The arms below a condition with tools: which conditions they are, and what a question scores under each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from toolablate.analysis.arms import UNPROMPTED, ArmKind, has_ladder, ladders
from toolablate.analysis.attribution.decomposition import Arms, Scores
from toolablate.analysis.pairing import counts
from toolablate.experiments.explaining.mending import Mending
from toolablate.traces.records import Condition
from toolablate.traces.store import Observation


def arms_below(conditions: Mapping[str, Condition], baseline: str) -> dict[str, Mapping[ArmKind, str]]:
    """Of each condition with tools the arms that it is set against, `none` among them, by their labels."""
    found = {ladder.toolset: ladder.arms for ladder in ladders(conditions)}
    without = {name: each for name, each in conditions.items() if not each.tools}
    return {
        name: found[name] if name in found else _without_ladder(each, without, baseline)
        for name, each in conditions.items()
        if has_ladder(each) and (name in found or (without and not each.name.endswith(UNPROMPTED)))
    }


class Ladders:
    """Trials by model, question and condition, and the conditions with tools with the arms below them.

    A condition that has no ladder is set against one of those without tools and words of their own, or else of those
    without tools, the baseline, or else the first; one without tools that has its words is its scaffold.
    """

    def __init__(
        self, seen: Iterable[Observation], conditions: Mapping[str, Condition], baseline: str, mending: Mending
    ) -> None:
        self._trials: dict[tuple[str, str, str], list[Observation]] = defaultdict(list)
        for each in seen:
            self._trials[each.model, each.question, each.condition].append(each)
        self._mending = mending
        self._conditions = conditions
        self._arms = arms_below(conditions, baseline)

    @property
    def prompted(self) -> frozenset[str]:
        """The conditions without tools that others are set against although they have words of their own."""
        against = {arms["none"] for arms in self._arms.values()}
        return frozenset(name for name in against if self._conditions[name].prompt)

    @property
    def with_tools(self) -> Sequence[str]:
        """The conditions that can be explained."""
        return tuple(self._arms)

    def pair(self, condition: str) -> tuple[Condition, Condition]:
        """The condition without tools that one is set against, and the one itself."""
        return self._conditions[self._arms[condition]["none"]], self._conditions[condition]

    def without_tools(self, seen: Observation) -> list[Observation]:
        """The question's trials without tools that count."""
        return [each for each in self._of(seen, "none") if counts(each)]

    def below(self, seen: Observation) -> Arms | None:
        """None where no trial without tools counts."""
        none = tuple(each.value or 0.0 for each in self.without_tools(seen))
        if not none:
            return None
        bare = self._mended(seen, "none")
        arms = self._arms[seen.condition]
        same_words = not (self._conditions[seen.condition].prompt or self._conditions[arms["none"]].prompt)
        return Arms(
            none=none,
            scaffold=(bare if same_words else self._mended(seen, "scaffold")) or (),
            offered=self._mended(seen, "offered") or (),
            sham=self._mended(seen, "sham") or (),
            placebo=self._mended(seen, "placebo") or (),
            bare=bare if bare != none else (),
        )

    def _mended(self, seen: Observation, kind: ArmKind) -> Scores | None:
        return self._mending.of_trials(self._of(seen, kind))

    def _of(self, seen: Observation, kind: ArmKind) -> list[Observation]:
        label = self._arms[seen.condition].get(kind)
        return [] if label is None else self._trials.get((seen.model, seen.question, label), [])


def _without_ladder(condition: Condition, without: Mapping[str, Condition], baseline: str) -> Mapping[ArmKind, str]:
    bare = [name for name, each in without.items() if not each.prompt] or list(without)
    none = baseline if baseline in bare else bare[0]
    worded = (name for name, each in without.items() if condition.prompt and each.prompt == condition.prompt)
    scaffold = next((name for name in worded if name != none), None)
    return {"none": none} if scaffold is None else {"none": none, "scaffold": scaffold}
