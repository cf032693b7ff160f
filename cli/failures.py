"""The command that lists and groups the wrong answers of a store."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.analysis.failures import Failure, Failures

LISTED = 20


@click.command(
    "failures",
    epilog=options.example(
        "toolablate failures STORE --by relation",
        "toolablate failures STORE --by condition,relation --where flip=right",
        "toolablate failures STORE --where relation=scale --list",
        "toolablate failures STORE --by domain --sample 10 --json",
    ),
)
@click.argument("store", type=options.FilePath())
@click.option(
    "--by",
    metavar="KEY",
    default="relation",
    show_default=True,
    help="Group by relation (of the answer to the right one), mechanism, cluster (of what trials say), flip (whether"
    " the baseline is right), model, condition, question, domain, difficulty, language, kind, verdict or metadata.KEY."
    " Keys joined by commas are crossed.",
)
@click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    help="Only wrong trials with this value of a key. May be given several times: all have to hold.",
)
@click.option(
    "--like",
    metavar="TRIAL",
    help="List the wrong trials that say what this one says, the most alike first: by BM25 of the words of its turning"
    " event and answer, without those of its question.",
)
@click.option("--list", "listed", is_flag=True, help="List the trials, with answers, instead of groups.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=LISTED, show_default=True, help="List at most so many."
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="List at most N of each group, drawn at random by the seed.",
)
@click.option(
    "--plan",
    metavar="PLAN",
    type=options.FilePath(),
    help="With --by cluster: the [embeddings] of this plan group by meaning, and a judge of it names each cluster from"
    " its words and three examples.",
)
@click.option("--judge", metavar="NAME", default="", help="The judge that names clusters. Default: the plan's first.")
@click.option(
    "--calls",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="Keeps what the judge was asked and replied, so that it is paid for once. Default: STORE.clusters.jsonl.",
)
@options.max_cost
@options.seed("--sample")
@options.run("latest")
@options.scorer
@options.baseline
@options.as_json("groups, or trials with --list,")
def failures_command(
    store: Path,
    by: str,
    where: tuple[str, ...],
    like: str | None,
    listed: bool,
    limit: int,
    sample: int | None,
    plan: Path | None,
    judge: str,
    calls: Path | None,
    max_cost: float | None,
    seed: int,
    run: str,
    scorer: str | None,
    baseline: str | None,
    as_json: bool,
) -> None:
    """Group the wrong answers in STORE by what they have in common.

    The relation of an answer to the right one is found by rule: another scale, the other sign, rounded otherwise,
    another unit, off by one, within 5 %, a part of it or more, other words, something else that the question names or
    its material holds, no answer, a refusal. No model is asked. A scorer can name relations of its own.

    Trials that failed for the infrastructure, or have no score, are no wrong answers: they are counted apart.
    """
    from functools import partial

    from toolablate.api.failing import wrong_answers
    from toolablate.cli.finding import tell_indexed

    if "cluster" not in by and "cluster=" not in " ".join(where):
        options.refuse_given(["plan", "judge", "calls", "max_cost"], "needs --by cluster")
    elif plan is None:
        options.refuse_given(["judge", "calls", "max_cost"], "needs --plan")
    made = wrong_answers(
        store,
        by=[key.strip() for key in by.split(",")],
        where=wanted_of(where),
        like=like,
        listed=listed,
        limit=limit,
        sample=sample,
        seed=seed,
        run=run,
        scorer=scorer,
        baseline=baseline,
        clustering=(
            partial(_grouped_by, store=store, plan=plan, judge=judge, calls=calls, max_cost=max_cost) if plan else None
        ),
        tell=tell_indexed,
    )
    if as_json:
        import json

        click.echo(json.dumps(made.json, ensure_ascii=False, indent=2))
        return
    from rich.console import Console

    made.print(Console())


def wanted_of(where: tuple[str, ...]) -> dict[str, str]:
    """What `--where` asks for, by key. Raises InputError for what is no KEY=VALUE."""
    from toolablate.traces.errors import InputError

    found = {}
    for each in where:
        key, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"--where: {each!r} is no KEY=VALUE", hint="such as relation=scale", code="usage")
        found[key.strip()] = value.strip()
    return found


def _grouped_by(
    found: "Failures[Failure]", store: Path, plan: Path, judge: str, calls: Path | None, max_cost: float | None
) -> "Failures[Failure]":
    """By the plan's embedding endpoint, where it has one, and named by a judge of it, where it has one."""
    from toolablate.analysis.failures import with_clusters
    from toolablate.api.failing import prompts_of
    from toolablate.experiments.embedded_texts import embedded
    from toolablate.experiments.plans.judges_plan import load_grouping

    helpers, vectors = load_grouping(plan), None
    if helpers.embeddings is not None:
        texts = {each.trial: f"{each.said}\n\n{each.answer}" for each in found.failures}
        vectors = embedded(helpers.embeddings, texts, store.with_name(f"{store.name}.vectors.jsonl"), max_cost=max_cost)
    found = with_clusters(found, prompts_of(store), vectors)
    if not helpers.judges and not judge:
        return found
    return _named(found, plan, calls or store.with_name(f"{store.name}.clusters.jsonl"), judge, max_cost)


def _named(
    found: "Failures[Failure]", plan: Path, calls: Path, judge: str, max_cost: float | None
) -> "Failures[Failure]":
    from rich.console import Console

    from toolablate.experiments.cluster_naming import ClusterTexts, name_clusters
    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.plans.judges_plan import load_judges
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.traces.commands import stopped_cleanly, warn

    said = {each.trial: f"{each.said}\n\nAnswer: {each.answer}" for each in found.failures}
    given = [ClusterTexts(each, tuple(said[trial] for trial in each.examples)) for each in found.clusters or ()]
    console = Console(stderr=True)
    with stopped_cleanly(), RunProgress(console) as progress:
        made = name_clusters(load_judges(plan), given, calls, judge=judge, max_cost=max_cost, progress=progress)
    for line in work_told(made.work, "name"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for name, why in made.unread.items():
        warn(f"{name}: not named: {why}")
    return replace(found, clusters=made.clusters)
