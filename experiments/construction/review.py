"""What people decide of items: who has to agree, what a mend changes, how far two agree beyond chance."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from toolablate.analysis.agreement.kappa import cohens_kappa, kappa_interval, margins
from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.rows.row_errors import LineError, at
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.experiments.construction.stages import Content, Dropped, Kept, Outcome, Waiting
from toolablate.experiments.construction.workbench import Decision, content_digest


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What of an item people see and may mend: the object under `part` of its content, beside its `source`, the values
    of these keys. `faults` says what is wrong with a content."""

    part: str
    source: tuple[str, ...]
    faults: Callable[[Content], Sequence[str]]

    def mended(self, content: Content, fields: Mapping[str, Any]) -> Content:
        return {**content, self.part: {**content[self.part], **fields}}


@dataclass(frozen=True)
class Review:
    """`reviewers` different people have to say the same of an item; where they do not, one more decides."""

    reviewed: Reviewed
    reviewers: int
    decisions: Sequence[Decision]
    name: ClassVar[str] = "review"
    version: ClassVar[int] = 1
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {"reviewers": self.reviewers}

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        """The decisions on what the item is now: on what it was before nobody is held."""
        seen = {item: content_digest(content) for item, content in contents.items()}
        found = defaultdict(list)
        for item, said in by_item(self.decisions).items():
            found[item] = [each.model_dump(mode="json") for each in said if each.seen == seen.get(item)]
        return {item: said for item, said in found.items() if said}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        if not self.reviewers:
            return Kept(content)
        said = [Decision.model_validate(each) for each in context or ()]
        if len(said) < self.reviewers:
            return Waiting("review")
        first, further = said[: self.reviewers], said[self.reviewers :]
        if len({_gist(each) for each in first}) == 1:
            return self._outcome(content, first[0])
        return self._outcome(content, further[0]) if further else Waiting("adjudication")

    def _outcome(self, content: Content, decision: Decision) -> Outcome:
        if decision.verdict == "reject":
            return Dropped("rejected", decision.reason)
        return Kept(content if decision.verdict == "accept" else self.reviewed.mended(content, decision.content))


def by_item(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """In the order in which people first spoke; of one person's words on the same content the last counts."""
    found: defaultdict[str, dict[tuple[str, str, str], Decision]] = defaultdict(dict)
    for each in decisions:
        found[each.item][each.by] = each
    return {item: list(said.values()) for item, said in found.items()}


def _gist(decision: Decision) -> tuple[str, str]:
    return decision.verdict, content_digest(decision.content) if decision.verdict == "mend" else ""


def load_decisions(path: Path, contents: Mapping[str, Content], reviewed: Reviewed) -> list[Decision]:
    """One decision in a row, on `contents`: what the items that came to review are now, by item.

    Raises InputError that names the row: an unknown item or key, an item that is another by now, a mend that leaves a
    fault or changes nothing, a rejection without a reason."""
    found = []
    for place, row in rows_of(path):
        try:
            found.append(_decision(row, contents, reviewed))
        except LineError as error:
            raise at(place, error, code="bad_decision") from error
    return found


def _decision(row: Mapping[str, Any], contents: Mapping[str, Content], reviewed: Reviewed) -> Decision:
    item = str(row.get("item", ""))
    matches = [known for known in contents if item and known.startswith(item)]
    if len(matches) != 1:
        raise LineError(
            f"item: {item!r} is {'no item' if not matches else 'more than one item'} that was to be reviewed"
        )
    content = contents[matches[0]]
    try:
        decision = Decision.model_validate({**row, "item": matches[0]})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise LineError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if decision.seen != content_digest(content):
        raise LineError(
            "seen: the item is another by now, so that this is no decision on it", "`build decide` prints what it is."
        )
    if decision.verdict == "reject" and not decision.reason.strip():
        raise LineError("reason: a rejection needs one")
    if decision.verdict == "mend":
        asked = content[reviewed.part]
        if unknown := sorted(decision.content.keys() - asked.keys()):
            raise LineError(f"content: {unknown[0]!r} is no field of the item", f"It has {', '.join(asked)}.")
        mended = {**asked, **decision.content}
        if mended == asked:
            raise LineError("content: the mend changes nothing", 'Say "accept".')
        if wrong := [key for key in asked if not _is_like(mended[key], asked[key])]:
            raise LineError(f"content.{wrong[0]}: has to be {_called(asked[wrong[0]])}")
        if faults := reviewed.faults(reviewed.mended(content, decision.content)):
            raise LineError(f"content: {'; '.join(faults)}")
    return decision


def _is_like(value: object, before: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return type(value) is type(before) and all(isinstance(each, str) for each in texts)


def _called(value: object) -> str:
    return "a list of texts" if isinstance(value, list) else "a text"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of the first two people on each item: on how many both decided, share that they decided alike, Cohen's kappa of
    accept, mend and reject with its 95 % interval over items (None where it is undefined), median seconds an item
    (None where nobody measured)."""

    items: int
    alike: float | None
    kappa: float | None
    ci95: tuple[float, float] | None
    median_seconds: float | None


def agreement_of(decisions: Iterable[Decision], contents: Mapping[str, Content]) -> Agreement:
    """Of what the items that came to review are now."""
    import statistics

    seen = {item: content_digest(content) for item, content in contents.items()}
    said = {
        item: [each for each in of_item if each.seen == seen.get(item)] for item, of_item in by_item(decisions).items()
    }
    pairs = [(of_item[0], of_item[1]) for of_item in said.values() if len(of_item) > 1]
    units = margins([[(one.verdict, other.verdict)] for one, other in pairs])
    seconds = [each.seconds for of_item in said.values() for each in of_item if each.seconds is not None]
    return Agreement(
        items=len(pairs),
        alike=sum(_gist(one) == _gist(other) for one, other in pairs) / len(pairs) if pairs else None,
        kappa=cohens_kappa(units),
        ci95=kappa_interval(units) if len(pairs) > 1 else None,
        median_seconds=statistics.median(seconds) if seconds else None,
    )
