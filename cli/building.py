"""`toolablate build`: makes a benchmark of questions with answers or of statements, stage by stage."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.cli.building_material import capture_command, pages_command, regions_command
from toolablate.traces import options
from toolablate.traces.commands import SuggestingGroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from toolablate.experiments.construction.building import Passed
    from toolablate.experiments.construction.funnel import Funnel, StageFigures


class _Build(SuggestingGroup):
    """`build PIPELINE.toml` is `build run PIPELINE.toml`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, "run" if _is_file(cmd_name) else cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, ["run", *args] if _is_file(args[0]) else args)


def _is_file(name: str) -> bool:
    """And no command's name."""
    return not name.startswith("-") and bool(Path(name).suffix or "/" in name)


@click.group("build", cls=_Build, epilog=options.example("toolablate build questions.toml"))
def build_group() -> None:
    """Make a benchmark of questions with answers, or of textbooks' statements: `build PIPELINE.toml` runs the stages,
    and does only what is missing.

    \b
      items = "pairs.jsonl"   # question, answer; may have explanation, replies, title, url, forum, licence, names
      output = "published"
      [roles]
      writer = "gpt"          # assesses and converts; by default the first model
      checker = "other"       # filters, compares
      [[models]]              # as [[judges]] of a plan
      provider = "openai"
      name = "gpt"
      model = "gpt-5"
      [prompts]
      assess = "assess.txt"   # in the place of what `build prompts assess` prints
      [review]
      reviewers = 2           # 0: nobody reads it
    """


build_group.add_command(pages_command)
build_group.add_command(regions_command)
build_group.add_command(capture_command)


@build_group.command("run", epilog=options.example("toolablate build run questions.toml --max-cost 5"))
@click.argument("pipeline", type=options.FilePath(dir_okay=False))
@options.max_cost
@click.option(
    "--again",
    is_flag=True,
    help="Ask anew for items whose replies could not be used (reply unread), or whose request was refused.",
)
@options.as_json("the funnel")
def run_command(pipeline: Path, max_cost: float | None, again: bool, as_json: bool) -> None:
    """Run the stages of PIPELINE, and publish what passes them: assess, filter, deduplicate, convert, check and review
    of questions; filter, specify, deduplicate, falsify, check and review of statements.

    Replies and steps are kept in the workbench: after Ctrl-C, a kill or a failure the same command goes on, and pays
    for nothing twice. A changed prompt, model or setting redoes its stage and what depends on it. Exits with 1 where a
    model could not be asked for an item.
    """
    from rich.console import Console

    from toolablate.experiments.construction.building import build, work_told
    from toolablate.experiments.construction.funnel import funnel_of
    from toolablate.experiments.construction.kinds import require
    from toolablate.experiments.construction.pipeline import load_pipeline
    from toolablate.experiments.construction.publishing import publish, told_of_lost
    from toolablate.experiments.construction.workbench import Workbench
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.reports.numbers import counted
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.terminal_text import inert

    console = Console(stderr=True)
    loaded = load_pipeline(pipeline)
    items = require(loaded)
    with stopped_cleanly(), RunProgress(console) as progress, Workbench(Path(loaded.workbench)) as bench:
        for line in told_of_lost(loaded, bench):
            console.print(inert(line, "yellow"), soft_wrap=True)
        built = build(loaded, bench, items, max_cost=max_cost, again=again, progress=progress)
        funnel = funnel_of(loaded, built, bench)
        whole = built.published is not None and not built.missing
        published = publish(loaded, built, funnel, bench.canary(), progress.tell) if whole else None
    for work in built.work:
        for line in work_told(work):
            console.print(inert(line), highlight=False, soft_wrap=True)
    _show(funnel, as_json=as_json)
    if published is None:
        lacking = f"{counted(built.missing, 'item')} not asked for; " if built.missing else ""
        told = f"Not done: {lacking}what was published before stays as it is. The same command goes on."
        console.print(told, style="yellow", soft_wrap=True)
    else:
        told = counted(len(built.published or {}), loaded.kind.removesuffix("s"))
        console.print(f"{told} in {published.folder}", markup=False, soft_wrap=True)
        if waiting := sum(map(len, (found.waiting for found in built.stages if found not in built.reviews))):
            console.print(f"{counted(waiting, 'item')} waiting: `build status --list`", markup=False)
        if waiting := sum(len(found.waiting) for found in built.reviews):
            console.print(f"{counted(waiting, 'item')} waiting for people: `build review`", markup=False)
        for line in published.told:
            console.print(inert(line), soft_wrap=True)
    raise SystemExit(1 if built.missing or built.published is None else 0)


@build_group.command("status", epilog=options.example("toolablate build status questions.toml"))
@click.argument("pipeline", type=options.FilePath(dir_okay=False))
@click.option("--list", "as_list", is_flag=True, help="Print each item that was dropped or waits, and why.")
@options.as_json("the funnel, with --list the items,")
def status_command(pipeline: Path, as_list: bool, as_json: bool) -> None:
    """Show the funnel of PIPELINE: items in and out of each stage, reasons, requests, cost and minutes."""
    from toolablate.experiments.construction.building import seen_so_far
    from toolablate.experiments.construction.funnel import funnel_of
    from toolablate.experiments.construction.pipeline import load_pipeline
    from toolablate.experiments.construction.workbench import Workbench
    from toolablate.reports.numbers import counted

    loaded = load_pipeline(pipeline)
    with Workbench(Path(loaded.workbench), write=False) as bench:
        found = seen_so_far(loaded, bench)
        if not as_list:
            _show(funnel_of(loaded, found, bench), as_json=as_json)
            if found.missing:
                click.echo(
                    f"{counted(found.missing, 'item')} not asked for yet: what is said of the set is of what passed so"
                    " far; what was published before stays as it is.",
                    err=True,
                )
            return
    _list(found.stages, as_json=as_json)


@build_group.command("prompts", epilog=options.example("toolablate build prompts assess > assess.txt"))
@click.argument("name", required=False)
def prompts_command(name: str | None) -> None:
    """Print the prompt NAME that models are asked with; without NAME, the names of all.

    A pipeline may have a file in its place. It has to name each key of the reply, and to have the same placeholders in
    braces. Items of that stage are asked for again with it.

    \b
      [prompts]
      assess = "assess.txt"
    """
    from toolablate.experiments.construction.prompts import PROMPTS
    from toolablate.traces.errors import InputError

    if name is None:
        click.echo("\n".join(PROMPTS))
        return
    text = next((prompt.text for known, prompt in PROMPTS.items() if known == name), None)
    if text is None:
        raise InputError(f"there is no prompt {name!r}", hint=f"there are {', '.join(PROMPTS)}", code="unknown_prompt")
    click.echo(text)


@build_group.command("decide", epilog=options.example("toolablate build decide questions.toml decisions.jsonl"))
@click.argument("pipeline", type=options.FilePath(dir_okay=False))
@click.argument("decisions", type=options.FilePath(dir_okay=False), required=False)
def decide_command(pipeline: Path, decisions: Path | None) -> None:
    """Take what people decided of items: one JSON object a line in DECISIONS. Without it, print what waits for them.

    \b
      {"item": "3f2a91", "seen": "9c1f5a", "reviewer": "ann", "verdict": "accept", "seconds": 42}
      {"item": "77b0c4", "seen": "02ab7e", "reviewer": "ann", "verdict": "mend", "content": {"question": "..."}}
      {"item": "d10e55", "seen": "e77d10", "reviewer": "ann", "verdict": "reject", "reason": "two are right"}

    `item` is the beginning of its id, and `seen` that of what is printed with it, at least 6 characters: a decision is
    on the text that was seen. The next `build` goes on with what is decided.
    """
    import json

    from toolablate.experiments.construction.approvals import load_reviewed
    from toolablate.experiments.construction.audit import rows_named
    from toolablate.experiments.construction.building import seen_so_far
    from toolablate.experiments.construction.review import Review, load_decisions, said_of
    from toolablate.experiments.construction.reviewers import Reviewers
    from toolablate.experiments.construction.workbench import Workbench, content_digest
    from toolablate.reports.numbers import counted

    loaded = load_reviewed(pipeline)
    with Workbench(Path(loaded.workbench), write=decisions is not None, beside=True) as bench:
        reviews = [(each.stage, each) for each in seen_so_far(loaded, bench).reviews if isinstance(each.stage, Review)]
        if decisions is not None:
            came = [(found.contents, stage.reviewed) for stage, found in reviews]
            found, out_of_date = load_decisions(decisions, came, Reviewers(Path(loaded.workbench)).known())
            kept = bench.decide(found)
            click.echo(f"{counted(kept, 'decision')} kept; `toolablate build {pipeline}` goes on with them.", err=True)
            for why, rows in out_of_date.items():
                click.echo(f"{counted(len(rows), 'row')} not kept, {why}: {rows_named(rows)}", err=True)
            raise SystemExit(1 if out_of_date else 0)
        for stage, passed in reviews:
            said, part = said_of(bench.decisions(), passed.contents, stage), stage.reviewed
            for item, waits in passed.waiting.items():
                content = passed.contents[item]
                told = {
                    "item": item,
                    "seen": content_digest(content),
                    "waits_for": waits.reason,
                    "decided_by": [each.reviewer for each in said.get(item, [])],
                    "content": part.mendable(content),
                    "source": part.shown(content),
                }
                click.echo(json.dumps(told, ensure_ascii=False))


@build_group.command("audit", epilog=options.example("toolablate build audit statements.toml -n 200 > audit.jsonl"))
@click.argument("pipeline", type=options.FilePath(dir_okay=False))
@click.option("-n", "number", type=click.IntRange(min=1), default=200, show_default=True, help="How many items.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw.")
def audit_command(pipeline: Path, number: int, seed: int) -> None:
    """Draw published items of PIPELINE at random, for people to say of each whether it is right: one JSON object a
    line.

    \b
      {"item": "3f2a91...", "seen": "9c1f...", "seed": 0, "right": true, "auditor": "ann"}
      {"item": "77b0c4...", "seen": "02ab...", "seed": 0, "right": false, "reason": "holds at 2 atm"}

    Rows like these (other keys are ignored) go into the file that `[card] audit` names. `build status` and the card
    then bound the share of items that are wrong. Leave out none that was drawn: the rows behind it do not count.
    """
    import json

    from toolablate.experiments.construction.audit import drawn
    from toolablate.experiments.construction.building import seen_so_far
    from toolablate.experiments.construction.kinds import reviewed
    from toolablate.experiments.construction.pipeline import load_pipeline
    from toolablate.experiments.construction.publishing import require_published
    from toolablate.experiments.construction.workbench import Workbench, content_digest

    loaded = load_pipeline(pipeline)
    with Workbench(Path(loaded.workbench), write=False) as bench:
        contents, part = seen_so_far(loaded, bench).published or {}, reviewed(loaded)
        require_published(loaded, contents, bench)
    for item in drawn(contents, number, seed):
        content = contents[item]
        told = {
            "item": item,
            "seen": content_digest(content),
            "seed": seed,
            "content": part.mendable(content),
            "source": part.shown(content),
        }
        click.echo(json.dumps(told, ensure_ascii=False))


@build_group.command("review", epilog=options.example("toolablate build review questions.toml"))
@click.argument("pipeline", type=options.FilePath(dir_okay=False))
@click.option(
    "--port", type=click.IntRange(1, 65_535), metavar="N", help="Serve there; by default where it was served last."
)
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.option("--json", "as_json", is_flag=True, help='Print {"url": ...} on one line instead of a sentence.')
def review_command(pipeline: Path, port: int | None, no_open: bool, as_json: bool) -> None:
    """Serve pages on which people review the items of PIPELINE that wait for them: the source beside what was made of
    it, each field to be mended, accept and reject by key; or the forums that somebody proposes, of a file for `build
    threads` or `build capture`.

    Serves this machine only, at the printed address, until Ctrl-C. Several people may review at once, each in a
    browser of their own, also while `build` runs. A second reviewer does not see what the first one said; where they
    differ, a third decides. Names stay in a file beside the workbench; decisions have an alias.
    """
    from toolablate.viewer.keeping.serving import address_shown, listening, require_view
    from toolablate.viewer.reviewing.serving import listening_again, serve_review

    def tell(line: str) -> None:
        click.echo(line, err=True)

    require_view()
    place = listening(port) if port else listening_again(pipeline, tell)
    with place as listener, address_shown(open_it=not no_open, as_json=as_json) as ready:
        serve_review(pipeline, listener, ready)


@build_group.command("threads", epilog=options.example("toolablate build threads forums.toml"))
@click.argument("forums", type=options.FilePath(dir_okay=False))
def threads_command(forums: Path) -> None:
    """Fetch threads with an accepted answer from the forums in FORUMS, which publish them as JSON, into the items of a
    pipeline. Threads that are there already are not fetched again; robots.txt and a pace for each host are kept.

    \b
      output = "pairs.jsonl"
      [[forums]]
      kind = "discourse"
      name = "Batteries"
      url = "https://forum.example"
      licence = "CC BY-NC-SA 4.0"
      since = 2026-01-01      # until, views, replies, votes, limit
      [[forums]]
      kind = "stackexchange"  # its API 2.3, which says the licence
      name = "Chemistry"
      site = "chemistry"
      [web]                   # as in plans
      delay_seconds = 1.0
    """
    import asyncio
    from collections import Counter

    from rich.console import Console

    from toolablate.experiments.construction.approvals import approved_in
    from toolablate.experiments.construction.sources.forum_plan import load_forums
    from toolablate.experiments.construction.sources.forum_reading import ForumUnreadableError, LeftOut
    from toolablate.experiments.construction.sources.forum_threads import fetch_threads
    from toolablate.experiments.environment.recording import KEYS
    from toolablate.reports.numbers import counted
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.terminal_text import one_line

    plan, console = load_forums(forums), Console(stderr=True)
    approved = approved_in(forums, plan.forums)
    found, left_out, failed = Counter({forum.name: 0 for forum in plan.forums}), list[LeftOut](), list[str]()

    async def fetch() -> None:
        async for name, thread in fetch_threads(plan, approved):
            if isinstance(thread, ForumUnreadableError):
                key = f" ({KEYS[thread.code]})" if thread.code in KEYS else ""
                then = "it is not read before that changes" if thread.for_good else "the same command goes on"
                failed.append(f"{name}: {thread}{key}; {then}.")
            elif isinstance(thread, LeftOut):
                left_out.append(thread)
            else:
                found[name] += 1

    with stopped_cleanly():
        asyncio.run(fetch())
    for name, count in found.items():
        console.print(f"{name}: {counted(count, 'new thread')}", markup=False, highlight=False)
    for each in left_out:
        line = one_line(f"{each.forum}: left out: {each.reason}", max_chars=1_000)
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    for line in failed:
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    for forum in plan.forums:
        if not forum.is_open(approved):
            console.print(forum.waits_told(forums), style="yellow", markup=False, soft_wrap=True)
    raise SystemExit(1 if failed else 0)


@build_group.command("posts", epilog=options.example("toolablate build posts thread.html --json"))
@click.argument("page", type=options.FilePath(dir_okay=False, allow_dash=True))
@options.as_json("the posts")
def posts_command(page: Path, as_json: bool) -> None:
    """Print the posts of a forum thread from its page, PAGE, in HTML (- for standard input).

    Posts are the blocks of the page that repeat and whose text does not: no forum has to be known. With --json
    {"posts": [{"text": "..."}]}. Exits with 1 where no posts are found.
    """
    import json
    import sys

    from toolablate.experiments.construction.sources.apart import OF_A_PAGE, read_apart
    from toolablate.experiments.construction.sources.forum_posts import posts_of
    from toolablate.tools.extraction.kinds import decode
    from toolablate.traces.errors import InputError
    from toolablate.traces.terminal_text import plain_text
    from toolablate.traces.validation import why_unreadable

    try:
        read = sys.stdin.buffer.read() if str(page) == "-" else page.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {page}: {why_unreadable(error)}", code="unreadable") from None
    why = _why_no_html(read)
    if why:
        raise InputError(
            f"{page} is no HTML: {why}", hint="name the page of a thread, as a browser gets it", code="not_html"
        )
    posts = read_apart(str(page), OF_A_PAGE, posts_of, decode(read))
    if as_json:
        click.echo(json.dumps({"posts": [{"text": post} for post in posts]}, ensure_ascii=False, indent=2))
    elif posts:
        click.echo("\n\n---\n\n".join(map(plain_text, posts)))
    if not posts:
        click.echo(
            "no posts were found: nothing repeats, and no block is named as a post; a single post in markup of its own "
            "is not found, `build capture` takes a picture of it",
            err=True,
        )
    raise SystemExit(0 if posts else 1)


def _list(stages: "Sequence[Passed]", *, as_json: bool) -> None:
    import json

    from toolablate.experiments.construction.stages import ID_DIGITS, NOT_ASKED, Dropped, Kept, Waiting, beginning
    from toolablate.traces.terminal_text import one_line, shortened

    rows = []
    for passed in stages:
        left = {item: each for item, each in passed.outcomes.items() if not isinstance(each, Kept)}
        left |= {each.step.item: Waiting(NOT_ASKED, each.why) for each in passed.lacking}
        for item, content in passed.contents.items():
            if (outcome := left.get(item)) is None:
                continue
            stage, reason, note = passed.stage.name, outcome.reason, outcome.note
            dropped = isinstance(outcome, Dropped)
            if as_json:
                did = "dropped" if dropped else "waiting"
                rows.append({"item": item, "stage": stage, did: reason, "note": note, "content": content})
                continue
            told = one_line(f"{reason}: {note}" if note else reason, max_chars=400)
            text = shortened(one_line(beginning(content), max_chars=400), 60)
            click.echo(f"{item[:ID_DIGITS]} {stage} {'dropped' if dropped else 'waits'}: {told} | {text}")
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))


def _why_no_html(content: bytes) -> str:
    """ "" for what may be HTML: also a part of a page, and what begins with a blank."""
    from toolablate.tools.extraction.kinds import Unreadable, decode, kind_of

    try:
        kind = kind_of(content, "")
    except Unreadable as error:
        return error.reason
    if kind == "pdf":
        return "it is a PDF file"
    begins = decode(content[:4_096]).lstrip()[:1]
    return "" if kind == "html" or begins in ("<", "") else "it does not begin with a tag"


def _show(funnel: "Funnel", *, as_json: bool) -> None:
    import json

    from rich.console import Console

    from toolablate.experiments.construction.funnel import funnel_json, funnel_lines
    from toolablate.traces.terminal_text import one_line

    if as_json:
        click.echo(json.dumps(funnel_json(funnel), ensure_ascii=False, indent=2))
        return
    console = Console()
    console.print(_table(funnel.stages, funnel.paper))
    for line in funnel_lines(funnel):
        console.print(one_line(line, max_chars=2_000), markup=False, highlight=False, soft_wrap=True)


def _table(stages: "Sequence[StageFigures]", paper: str) -> "RenderableType":
    from toolablate.experiments.construction.stages import NOT_ASKED
    from toolablate.reports.numbers import dollars
    from toolablate.reports.tables import Fitted, figures, names
    from toolablate.traces.terminal_text import one_line

    def told(counts: "Mapping[str, int]") -> str:
        return one_line(", ".join(f"{reason} {count}" for reason, count in counts.items()), max_chars=2_000)

    def waiting(each: "StageFigures") -> str:
        return told({**each.waiting, **({NOT_ASKED: each.missing} if each.missing else {})})

    costs = ["unknown" if each.cost_usd is None else dollars(each.cost_usd) for each in stages]
    return Fitted(
        (
            names("stage", [each.stage for each in stages]),
            figures("in", [str(each.came) for each in stages]),
            figures("out", [str(each.kept) for each in stages]),
            figures(paper, [each.paper for each in stages], spare=1),
            names("dropped", [told(each.dropped) for each in stages]),
            names("waiting", [waiting(each) for each in stages]),
            figures("requests", [str(each.requests) for each in stages]),
            figures("cost", costs),
            figures("minutes", [f"{each.seconds / 60:.1f}" for each in stages]),
        )
    )
