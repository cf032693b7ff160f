"""Of several scorers of a log, whose scores tables show."""

from collections.abc import Sequence, Set

from toolablate.formats.imports.arms import Arm
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line


def choose_scorers(
    arms: Sequence[Arm], named: str | None, earlier: Sequence[str], scored_by: Set[str] = frozenset()
) -> list[tuple[str, ...]]:
    """Of each log the scorers whose scores tables show: the one that is named, else those that are shown already, else
    those that the log shows first.

    Where the log goes by several, one that is shown brings the others with it: a log may have questions of one kind
    alone. Of those that have `scored_by` now in the store, none comes back that is not shown.
    """
    shown: tuple[str, ...] = tuple(earlier)
    hidden = scored_by - set(earlier)
    chosen: list[tuple[str, ...]] = []
    for arm in arms:
        usable = [name for name in arm.scorers if name not in arm.left_out]
        preferred = arm.log.preferred
        together = [] if set(preferred).isdisjoint(shown) else [name for name in preferred if name not in hidden]
        if named is not None:
            taken: tuple[str, ...] = (_named(arm, named),)
        else:
            taken = tuple(
                [name for name in usable if name in shown or name in together]
                or [name for name in preferred if name in usable]
                or usable[:1]
            )
        shown = tuple(dict.fromkeys([*shown, *taken]))
        chosen.append(taken)
    return chosen


def mixed_scorers(arms: Sequence[Arm], chosen: Sequence[tuple[str, ...]], earlier: Sequence[str]) -> list[str]:
    """Of each log, once its repeats are placed, what is to be told where other scorers judged the repeats of its
    questions before; else ""."""
    shown, told = set(earlier), []
    for arm, taken in zip(arms, chosen, strict=True):
        mixed = arm.first_repeat > 0 and taken and shown and shown.isdisjoint(taken)
        told.append(
            "another log has the same model, condition and questions, and none of these scorers: tables show both in"
            " one mean, unless --condition NAME tells them apart"
            if mixed
            else ""
        )
        shown.update(taken)
    return told


def _named(arm: Arm, name: str) -> str:
    if name not in arm.scorers:
        raise InputError(
            f"{arm.log.file} has no scores by {name!r}",
            hint=f"It has: {', '.join(one_line(each, max_chars=80) for each in arm.scorers) or 'none'}.",
            code="unknown_scorer",
        )
    if name in arm.left_out:
        where, reason = arm.left_out[name]
        raise InputError(
            f"{where}: {name}: {reason}",
            hint="A score has to be a number from 0 to 1, or to say whether the answer is right.",
            code="no_score",
        )
    return name


def shown_scorers(
    arms: Sequence[Arm], chosen: Sequence[tuple[str, ...]], named: str | None, earlier: Sequence[str]
) -> tuple[str, ...]:
    """Those of all logs of a store, in the order in which a log that goes by several has them, since the first that has
    scored a trial counts; the one that is named stands in the place of others that its logs have."""
    if named is not None:
        others = {name for arm in arms for name in arm.scorers}
        earlier = [name for name in earlier if name not in others]
    found = dict.fromkeys([*earlier, *(name for names in chosen for name in names)])
    preferred = dict.fromkeys(name for arm in arms if len(arm.log.preferred) > 1 for name in arm.log.preferred)
    in_turn = iter([name for name in preferred if name in found])
    return tuple(next(in_turn) if name in preferred else name for name in found)
