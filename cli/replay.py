from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.experiments.replay.batch import Replayed
    from toolablate.experiments.replay.requests import Content
    from toolablate.traces.records import Extend, ReplayChange, Say

    Wanted = ReplayChange | Content


@click.command("replay")
@click.argument("store", type=options.FilePath())
@click.argument("trial")
@click.option(
    "--from",
    "event",
    type=click.IntRange(min=0),
    metavar="N",
    required=True,
    help="The first event that is not taken from the record, by the number that `show TRIAL` gives it.",
)
@click.option(
    "--swap",
    metavar="null|placebo|gold|adversarial|FILE",
    help="Show the tool call at that event with no result, one of another question, the right answer, a wrong one, or "
    "the text of FILE.",
)
@click.option("--say", metavar="TEXT", help="Add a user's message before the model is asked.")
@click.option("--drop", is_flag=True, help="Leave out the tool call at that event, as if it had not been made.")
@click.option("--answer-now", is_flag=True, help="Ask at once for the answer, without tools.")
@click.option("--set-aside", is_flag=True, help="Ask at once for an answer that puts aside what tools gave.")
@click.option("--extend", metavar="LIMIT=N,...", help="Go on with a larger budget, as in turns=20,seconds=900.")
@click.option("--repair", is_flag=True, help="Make the tool call at that event, which went wrong, anew.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="How often to go on from there.",
)
@options.plan
@options.max_cost
@click.option("--live", is_flag=True, help="Ask the web and other programs for what was not recorded.")
@options.as_json("the new trials")
def command(
    store: Path,
    trial: str,
    event: int,
    swap: str | None,
    say: str | None,
    drop: bool,
    answer_now: bool,
    set_aside: bool,
    extend: str | None,
    repair: bool,
    repeats: int,
    plan: Path | None,
    max_cost: float | None,
    live: bool,
    as_json: bool,
) -> None:
    """Take up TRIAL of STORE again at one of its events, with one thing changed, to see what it changes.

    Without a change, what follows is drawn anew. All before the event is as it was recorded: the kernel is rebuilt by
    running the recorded cells again, and what they give now is compared. After it, calls in the words of the record get
    the recorded results. The new trials are stored beside the old one, and no table counts them. The plan is run that
    the store has kept: take up only what you would run the plan of. Exits with 1 if trials are left undone or failed,
    with 2 if nothing could be run.

    \b
      toolablate replay STORE 3f2a91 --from 6 --swap null --repeats 8
      toolablate replay STORE 3f2a91 --from 4 --answer-now
      toolablate replay STORE 3f2a91 --from 4 --say "Check the units."
    """
    from rich.console import Console

    from toolablate.experiments.replay.batch import replay
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.records import AnswerNow, Drop, Repair, SetAside

    changes: list[Wanted | None] = [
        _swap(swap),
        _said(say) if say is not None else None,
        Drop() if drop else None,
        AnswerNow() if answer_now else None,
        SetAside() if set_aside else None,
        _extended(store, trial, extend) if extend is not None else None,
        Repair() if repair else None,
    ]
    with stopped_cleanly(), RunProgress(Console(stderr=True)) as progress:
        replayed = replay(
            store,
            trial,
            event,
            _only(changes),
            repeats=repeats,
            plan=plan,
            max_cost=max_cost,
            live=live,
            watcher=progress,
        )
    _print(replayed, store, as_json=as_json)
    raise SystemExit(1 if replayed.launched.missing or replayed.launched.ungraded else 0)


def _only(changes: "list[Wanted | None]") -> "Wanted | None":
    from toolablate.traces.errors import InputError

    given = [change for change in changes if change is not None]
    if len(given) > 1:
        raise InputError(
            "a replay changes one thing, and several were named",
            hint="make several replays of it: --swap, --say, --drop, --answer-now, --set-aside, --extend, --repair",
            code="usage",
        )
    return given[0] if given else None


def _swap(content: str | None) -> "Wanted | None":
    from toolablate.traces.errors import InputError
    from toolablate.traces.records import Swap, clean_text
    from toolablate.traces.validation import why_unreadable

    match content:
        case None | "null" | "placebo" | "gold" | "adversarial":
            return content
    try:
        return Swap(content="text", text=clean_text(Path(content).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--swap: cannot read {content}: {why_unreadable(error)}",
            hint="name a file, or one of null, placebo, gold, adversarial",
            code="unreadable_text",
        ) from None


def _said(text: str) -> "Say":
    from toolablate.traces.errors import InputError
    from toolablate.traces.records import Say, clean_text

    if not text.strip():
        raise InputError("--say: the text is empty", hint="leave --say out to draw anew", code="usage")
    return Say(text=clean_text(text))


def _extended(store: Path, trial: str, given: str) -> "Extend":
    """The parent's budget with other limits. Raises InputError for what is no limit."""
    from pydantic import ValidationError

    from toolablate.traces.errors import InputError
    from toolablate.traces.records import Budget, Extend
    from toolablate.traces.store import Store
    from toolablate.traces.validation import explain

    named = dict(part.strip().partition("=")[::2] for part in given.split(","))
    with Store(store) as opened:
        budget = opened.condition(opened.trace(trial).trial.condition).budget
    try:
        return Extend(budget=Budget.model_validate({**budget.model_dump(), **named}))
    except ValidationError as error:
        raise InputError(
            f"--extend: {explain(error, Budget)}",
            hint="as in turns=20,seconds=900",
            code="bad_budget",
        ) from None


def _print(replayed: "Replayed", store: Path, *, as_json: bool) -> None:
    from rich.console import Console

    from toolablate.experiments.replay.outcomes import print_replayed, replayed_json

    if as_json:
        click.echo(replayed_json(replayed, store))
    else:
        print_replayed(replayed, store, Console())
