"""What people decide of items: who has to agree, what a mend changes, how far two agree beyond chance."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ValidationError

from toolablate.analysis.agreement.kappa import (
    alpha_interval,
    cohens_kappa,
    coincidences,
    kappa_interval,
    krippendorffs_alpha,
    margins,
)
from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.rows.row_errors import LineError, at
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.experiments.construction.json_replies import CONTROL
from toolablate.experiments.construction.reviewers import Reviewer, alias_fault
from toolablate.experiments.construction.stages import Content, Dropped, Kept, Outcome, Waiting
from toolablate.experiments.construction.workbench import Decision, as_seen, content_digest, person_key
from toolablate.traces.records import digest_json, digest_text


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What of an item people see and may mend: the object under `part` of its content ("" for none) and the values of
    `labels`, beside its `source`, the values of these keys. `faults` says what is wrong with a content, each beginning
    with its field, which `fields` has under a model's name of it. `reasons` are those for which most items are
    rejected; `choices` what a field may say, where that is not anything, and `most` for how many texts of a list there
    is room. `by` is the key of who made the item, who does not decide on it. `names` are those of fields that are
    called otherwise here, `told` is what people should know before.
    """

    part: str
    source: tuple[str, ...]
    faults: Callable[[Content], Sequence[str]]
    fields: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    told: str = ""
    by: str = ""
    _known: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_faulty(self, content: Content, mend: Mapping[str, Any]) -> bool:
        """Of one content with one mend that is asked of the rules once: with a language model they take long."""
        mended = self.mended(content, mend)
        # The whole content: rules also read what decisions do not hang on, as the names.
        key = digest_json(mended)
        if key not in self._known:
            self._known[key] = bool(self.faults(mended))
        return self._known[key]

    def is_by(self, content: Content, person: str) -> bool:
        return bool(self.by) and person_key(content[self.by]) == person_key(person)

    def mendable(self, content: Content) -> Content:
        """All that people may mend, by field."""
        return {**(content[self.part] if self.part else {}), **{key: content[key] for key in self.labels}}

    def shown(self, content: Content) -> Content:
        """What they see beside it, as far as there is any."""
        return {key: content[key] for key in self.source if content.get(key)}

    def mended(self, content: Content, fields: Mapping[str, Any]) -> Content:
        labels = {key: value for key, value in fields.items() if key in self.labels}
        made = {key: value for key, value in fields.items() if key not in self.labels}
        return {**content, **labels, **({self.part: {**content[self.part], **made}} if self.part else {})}


@dataclass(frozen=True)
class Review:
    """`reviewers` different people have to say the same of an item; where they do not, one more decides. `decisions`
    are those of the moment, since people may go on while a build asks models for hours."""

    reviewed: Reviewed
    reviewers: int
    decisions: Callable[[], Sequence[Decision]]
    name: str = "review"
    version: ClassVar[int] = 1
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {"reviewers": self.reviewers}

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        """The decisions on what the item is now: on what it was before nobody is held."""
        said = said_of(self.decisions(), contents, self)
        # What no longer applies is left out by now.
        return {
            item: [each.model_dump(mode="json", exclude={"sides"}) for each in of_item]
            for item, of_item in said.items()
        }

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        if not self.reviewers:
            return Kept(content)
        said = [Decision.model_validate(each) for each in context or ()]
        if waits := waits_for(said, self.reviewers):
            return Waiting(waits)
        return self._outcome(content, said[self.reviewers if differ(said[: self.reviewers]) else 0])

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


def waits_for(said: Sequence[Decision], reviewers: int) -> Literal["review", "adjudication", ""]:
    """What an item waits for on which people said this."""
    if len(said) < reviewers:
        return "review"
    return "adjudication" if len(said) == reviewers and differ(said) else ""


def differ(said: Iterable[Decision]) -> bool:
    return len({_gist(each) for each in said}) > 1


def sides_of(said: Sequence[Decision], reviewers: int) -> list[Decision]:
    """What the first people said who differ, in an order that tells nothing of who said it first; else []."""
    first = said[:reviewers]
    if len(first) < reviewers or not differ(first):
        return []
    return sorted(first, key=lambda each: digest_text(each.item + each.reviewer))


def sides_digest(sides: Sequence[Decision]) -> str:
    """Of what they say, in their order."""
    return digest_json([each.model_dump(include=OF_A_SIDE) for each in sides])


OF_A_SIDE = {"verdict", "content", "reason"}
NO_SIDES = sides_digest(())


def was_shown_sides(decision: Decision) -> bool:
    """Whether the person is known to have read what others said. Of a decision from a file nobody knows."""
    return decision.sides not in ("", NO_SIDES)


def _gist(decision: Decision) -> tuple[str, str]:
    return decision.verdict, content_digest(decision.content) if decision.verdict == "mend" else ""


class FaultyError(LineError):
    """A decision that cannot be kept: `faults` are those of its mend, if any."""

    def __init__(self, message: str, hint: str = "", faults: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.faults = tuple(faults) or (message,)


class ChangedError(LineError):
    """The item is another than the one that was decided on."""


class SidesError(LineError):
    """Those who differ say otherwise by now than was shown to who decided, or have come to differ."""


class NoItemError(LineError):
    """No item, or more than one, that came to a review is the one that was decided on."""


def load_decisions(
    path: Path, reviews: Sequence[tuple[Mapping[str, Content], Reviewed]], known: Mapping[str, Reviewer]
) -> tuple[list[Decision], dict[str, list[int]]]:
    """One decision in a row, and under each reason the numbers of the rows that are out of date: their item is another
    by now, or none. `reviews` are what the items that came to each review are now, by item, the last review at the end.
    `known` are the people who entered on the pages, by alias.

    Raises InputError that names the row: an unknown key, a mend that leaves a fault or changes nothing, a rejection
    without a reason, a person by name."""
    found = []
    out_of_date: defaultdict[str, list[int]] = defaultdict(list)
    of_ids = [(sorted(contents), contents, reviewed) for contents, reviewed in reviews]
    for place, row in rows_of(path):
        try:
            decision = decision_of(*_review_of(row, of_ids))
            if fault := alias_fault(decision.reviewer, known):
                raise LineError(f"reviewer: {fault}")
            found.append(decision)
        except (ChangedError, NoItemError) as error:
            why = str(error) if isinstance(error, ChangedError) else "item: is none, or no longer one, to be reviewed"
            out_of_date[why].append(place.number)
        except LineError as error:
            raise at(place, error, code="bad_decision") from error
    return found, dict(out_of_date)


def _review_of(
    row: Mapping[str, Any], reviews: Sequence[tuple[Sequence[str], Mapping[str, Content], Reviewed]]
) -> tuple[Mapping[str, Any], Mapping[str, Content], Reviewed]:
    """The row with its whole item, and the review at which the item's text is what was seen, else the last one to which
    it came. Of each review the ids are in their order."""
    item, seen = str(row.get("item", "")), str(row.get("seen", ""))
    if not item:
        raise LineError("item: is blank, and so is no item that was to be reviewed")
    came = [(found, *review[1:]) for review in reviews if (found := _beginning(item, review[0]))]
    if not came:
        raise NoItemError(item)
    fitting = [each for each in came if seen and any(content_digest(each[1][i]).startswith(seen) for i in each[0])]
    found, contents, reviewed = fitting[0] if fitting else came[-1]
    if len(found) > 1:
        raise LineError(f"item: {item!r} is more than one item that was to be reviewed")
    return {**row, "item": found[0]}, contents, reviewed


def _beginning(item: str, ids: Sequence[str]) -> list[str]:
    start = bisect_left(ids, item)
    return list(takewhile(lambda known: known.startswith(item), islice(ids, start, None)))


LONGEST_TEXT = 32_000
"""Characters that a person may write into one text: as many as Discourse takes in a post."""
FEWEST_SEEN = 6
"""Characters of a digest that tell one text from what it was before."""


def decision_of(row: Mapping[str, Any], contents: Mapping[str, Content], reviewed: Reviewed) -> Decision:
    """`item` is the whole id. Raises LineError: NoItemError where there is none, ChangedError where it is another by
    now, FaultyError where a rejection lacks its reason or a mend leaves faults."""
    item = str(row.get("item", ""))
    if item not in contents:
        raise NoItemError(f"item: {item!r} is no item that was to be reviewed")
    content = contents[item]
    try:
        decision = Decision.model_validate({**row, "item": item})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        told = f"the key '{key}' is missing" if first["type"] == "missing" else f"{key}: {first['msg']}"
        raise LineError(told) from None
    if reviewed.is_by(content, decision.reviewer):
        raise LineError(f"reviewer: {decision.reviewer} is who made it; others have to decide")
    seen = content_digest(content)
    if len(decision.seen) < FEWEST_SEEN:
        raise LineError(f"seen: {decision.seen!r} is too short", f"Write at least {FEWEST_SEEN} characters of it.")
    if not seen.startswith(decision.seen):
        raise ChangedError(
            "seen: the item is another by now, so that this is no decision on it", "`build decide` prints what it is."
        )
    if decision.verdict == "reject" and not as_seen(decision.reason):
        raise FaultyError("reason: a rejection needs one")
    if why := _why_not(decision.reason):
        raise FaultyError(f"reason: {why}")
    if decision.verdict != "mend" and decision.content:
        raise LineError(f"content: {decision.verdict} changes nothing", 'Say "mend", or leave it out.')
    mend = _mend(decision, content, reviewed) if decision.verdict == "mend" else {}
    return decision.model_copy(update={"seen": seen, "content": mend})


def _mend(decision: Decision, content: Content, reviewed: Reviewed) -> dict[str, Any]:
    """What it changes, without fields that it names as they are: by this two mends are compared."""
    asked = reviewed.mendable(content)
    if unknown := sorted(decision.content.keys() - asked.keys()):
        raise LineError(f"content: {unknown[0]!r} is no field of the item", f"It has {', '.join(asked) or 'none'}.")
    mend = {key: value for key, value in decision.content.items() if value != asked[key]}
    if not mend:
        raise LineError("content: the mend changes nothing", 'Say "accept".')
    if wrong := [key for key, value in mend.items() if not _is_like(value, asked[key])]:
        raise LineError(f"content.{wrong[0]}: has to be {_called(asked[wrong[0]])}")
    none = [
        f"{key}: {why}"
        for key in mend
        for text in sorted(_texts_in(mend[key]) - _texts_in(asked[key]))
        if (why := _why_not(text))
    ]
    # What is too long is not read further.
    if faults := none or reviewed.faults(reviewed.mended(content, mend)):
        raise FaultyError(f"content: {'; '.join(faults)}", faults=faults)
    return mend


def _texts_in(value: object) -> set[str]:
    return set(value) if isinstance(value, list) else {value} if isinstance(value, str) else set()


def _why_not(text: str) -> str:
    """What no text of a person may be, as none of a model may; "" where it is not."""
    if len(text) > LONGEST_TEXT:
        return f"has {len(text):,} characters, and may have {LONGEST_TEXT:,}"
    control = CONTROL.search(text)
    return f"holds the control character U+{ord(control[0]):04X}: leave it out" if control else ""


def _is_like(value: object, before: object) -> bool:
    texts = value if isinstance(value, list) else []
    return type(value) is type(before) and all(isinstance(each, str) for each in texts)


def _called(value: object) -> str:
    if isinstance(value, int):
        return "a whole number"
    return "a list of texts" if isinstance(value, list) else "a text"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of `items` on which two or more of the first people decided, each by their word as it stood when the last of
    these had spoken; who decides between them does not count. `same_verdict` is the share of items with one verdict
    (accept, mend or reject, whatever the mend). `beyond_chance` is the `statistic`: Cohen's kappa where all items are
    by the same two of `people`, else Krippendorff's alpha, with its 95 % interval over items (None where it is
    undefined). `median_seconds` an item are of all decisions (None where nobody measured)."""

    items: int
    people: int
    same_verdict: float | None
    statistic: Literal["kappa", "alpha"]
    beyond_chance: float | None
    ci95: tuple[float, float] | None
    median_seconds: float | None


STATISTICS = {"kappa": "Cohen's kappa", "alpha": "Krippendorff's alpha"}


def said_of(
    decisions: Iterable[Decision], contents: Mapping[str, Content], review: Review
) -> dict[str, list[Decision]]:
    """Of what the items that came to a review are now, by item."""
    seen = seen_of(contents)
    return said_now(still_kept(decisions, contents, seen, review.reviewed), seen, review.reviewers)


def still_kept(
    decisions: Iterable[Decision], contents: Mapping[str, Content], seen: Mapping[str, str], reviewed: Reviewed
) -> list[Decision]:
    """Without mends that would be refused by now: a rule, or a name of the item, may be younger than they are. `seen`
    are the digests of the items as they are."""

    def is_faulty(each: Decision) -> bool:
        if each.verdict != "mend" or each.seen != seen.get(each.item):
            return False
        return reviewed.is_faulty(contents[each.item], each.content)

    return [each for each in decisions if not is_faulty(each)]


def seen_of(contents: Mapping[str, Content]) -> dict[str, str]:
    return {item: content_digest(content) for item, content in contents.items()}


def said_now(decisions: Iterable[Decision], seen: Mapping[str, str], reviewers: int) -> dict[str, list[Decision]]:
    """By item, what people say of it as it is now: `seen` are the digests of the items. Who decided between sides that
    say otherwise by now has not decided."""
    return {item: _applying(said, reviewers) for item, said in words_of(decisions, seen).items()}


def words_of(decisions: Iterable[Decision], seen: Mapping[str, str]) -> dict[str, list[Decision]]:
    """By item, each person's last word on it as it is now, be it one between sides that say otherwise by now."""
    return by_item(each for each in decisions if each.seen == seen.get(each.item))


def _first(said: Sequence[Decision], reviewers: int) -> list[Decision]:
    """The first people who spoke. Who has read what they say is none of them, also where a word no longer counts."""
    return [each for each in said if not was_shown_sides(each)][:reviewers]


def _applying(said: Sequence[Decision], reviewers: int) -> list[Decision]:
    """Those of the first people, and then of others who decided between what these say. One without a digest of the
    sides, of a file or an earlier version, applies whatever they say."""
    first = _first(said, reviewers)
    if len(first) < reviewers:
        return first
    sides = sides_digest(sides_of(first, reviewers))
    return [*first, *(each for each in said if each not in first and each.sides in ("", sides))]


def own_words(decisions: Iterable[Decision], seen: Mapping[str, str], reviewers: int) -> dict[str, list[Decision]]:
    """By item, the first people's words as they stood when the last of these had spoken: a later one may follow what
    others said, or what became of the item."""
    found: dict[str, dict[str, Decision]] = {}
    for each in decisions:
        if each.seen == seen.get(each.item):
            said = found.setdefault(each.item, {})
            if len(_first([*said.values()], reviewers)) < reviewers:
                said[each.by[-1]] = each
    return {item: _first([*said.values()], reviewers) for item, said in found.items()}


def agreement(decisions: Sequence[Decision], seen: Mapping[str, str], reviewers: int) -> Agreement:
    """Of the items whose digests are `seen`; `decisions` are all that were ever made, in their order."""
    import statistics

    rated = [said for said in own_words(decisions, seen, reviewers).values() if len(said) > 1]
    people = sorted({each.by[-1] for said in rated for each in said})
    verdicts = [[each.verdict for each in sorted(said, key=lambda each: each.by[-1])] for said in rated]
    seconds = [each.seconds for said in words_of(decisions, seen).values() for each in said]
    measured = [each for each in seconds if each is not None]
    statistic: Literal["kappa", "alpha"] = "kappa" if len(people) == 2 else "alpha"
    if statistic == "kappa":
        two = margins([[(one, other)] for one, other in verdicts])
        value, ci95 = cohens_kappa(two), kappa_interval(two)
    else:
        several = coincidences([[each] for each in verdicts])
        value, ci95 = krippendorffs_alpha(several), alpha_interval(several)
    return Agreement(
        items=len(rated),
        people=len(people),
        same_verdict=sum(len({*each}) == 1 for each in verdicts) / len(rated) if rated else None,
        statistic=statistic,
        beyond_chance=value,
        ci95=ci95,
        median_seconds=statistics.median(measured) if measured else None,
    )
