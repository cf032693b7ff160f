"""The command that lists and groups the wrong answers of a store."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.analysis.failures import Failure, FailureGroup, Failures
    from toolablate.traces.records import Attribution, Mechanism

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
    from toolablate.analysis.failures import (
        chosen,
        grouped,
        most_alike,
        read_failures,
        sampled,
        with_clusters,
        with_mechanisms,
    )

    if "cluster" not in by and "cluster=" not in " ".join(where):
        options.refuse_given(["plan", "judge", "calls", "max_cost"], "needs --by cluster")
    elif plan is None:
        options.refuse_given(["judge", "calls", "max_cost"], "needs --plan")
    keys, wanted = [key.strip() for key in by.split(",")], wanted_of(where)
    named = {"mechanism", "cluster"} & {*keys, *wanted}
    attributed = attributions_of(store, run, scorer) if named or like else {}
    turned = {trial: each.turned_at for trial, each in attributed.items()} if "cluster" in named else None
    found = read_failures(store, run=run, scorer=scorer, baseline=baseline, turned=turned)
    if "mechanism" in (*keys, *wanted):
        found = with_mechanisms(found, {each: said.mechanism for each, said in attributed.items()})
    if "cluster" in (*keys, *wanted):
        if plan is None:
            found = with_clusters(found, prompts_of(store))
        else:
            found = _grouped_by(found, store, plan, judge, calls, max_cost)
    if like is not None:
        near = alike_by(store, like, attributed, run=run, scorer=scorer, baseline=baseline)
        found, listed = most_alike(chosen(found, wanted), *near, most=limit), True
    else:
        found = chosen(found, wanted)
    chances: Mapping[str, float] = {}
    if sample is not None:
        found, chances = sampled(found, keys, sample, seed)
        listed, limit = True, max(limit, len(found.failures))
    if as_json:
        import json

        rows = (
            {"failures": [_failure_json(each, chances) for each in found.failures[:limit]]}
            if listed
            else {"by": keys, "groups": [_group_json(group) for group in grouped(found, keys)]}
        )
        about = {
            "baseline": found.baseline,
            "wrong": found.wrong,
            "chosen": len(found.failures),
            "unscored": found.unscored,
            **clusters_json(found),
        }
        click.echo(json.dumps({**about, **rows}, ensure_ascii=False, indent=2))
        return
    from rich.console import Console

    from toolablate.reports.terminal.failures import failures_view, groups_view

    Console().print(failures_view(found, limit) if listed else groups_view(found, keys, grouped(found, keys), store))


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


def attributions_of(store: Path, run: str, scorer: str | None) -> "Mapping[str, Attribution]":
    """By trial, as `attribute` makes them from what is in the store."""
    from toolablate.experiments.attribution.explained import outlined
    from toolablate.experiments.attribution.readings_cache import readings_of

    found = outlined(store, run=run, scorer=scorer, kept=readings_of(store))
    return {each.attribution.trial: each.attribution for each in found.explained if each.attribution}


def mechanisms_of(store: Path, run: str, scorer: str | None) -> "Mapping[str, Mechanism]":
    """As `attribute` names them."""
    return {trial: each.mechanism for trial, each in attributions_of(store, run, scorer).items()}


def alike_by(
    path: Path,
    prefix: str,
    attributed: "Mapping[str, Attribution]",
    *,
    run: str,
    scorer: str | None,
    baseline: str | None,
) -> tuple[str, dict[str, float]]:
    """The whole id of a trial, and how much others say what it says, by trial. Raises InputError where there is no such
    trial, and StoreError."""
    from toolablate.analysis.clusters import tokens_of
    from toolablate.analysis.failures import said_at, words_of
    from toolablate.cli.finding import tell_indexed
    from toolablate.traces.store import Outlines, Store
    from toolablate.viewer.finding.store_texts import opened

    with Store(path) as store, Outlines(path) as outlines:
        trial = store.find_trial(prefix)
        question = store.question(store.trace(trial).trial.question)
        events = dict(outlines.events([trial])).get(trial, [])
        answer = "; ".join(next((each.extracted for each in reversed(store.scores(trial)) if each.extracted), ()))
    turned_at = attributed[trial].turned_at if trial in attributed else None
    asked = frozenset(tokens_of("\n".join((question.prompt, *question.choices))))
    words = words_of(said_at(events, turned_at), answer, asked)
    with opened(path, run=run, scorer=scorer, baseline=baseline) as texts:
        texts.refresh(tell_indexed)
        return trial, texts.alike(words)


def prompts_of(store: Path) -> dict[str, str]:
    """What questions ask, by name."""
    from toolablate.traces.store import Store

    with Store(store) as opened:
        return {question.id: "\n".join((question.prompt, *question.choices)) for question in opened.questions()}


def _grouped_by(
    found: "Failures[Failure]", store: Path, plan: Path, judge: str, calls: Path | None, max_cost: float | None
) -> "Failures[Failure]":
    """By the plan's embedding endpoint, where it has one, and named by a judge of it, where it has one."""
    from toolablate.analysis.failures import with_clusters
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


def clusters_json(found: "Failures[Failure]") -> dict[str, Any]:
    if found.clusters is None:
        return {}
    return {
        "clusters": [
            {
                "name": each.name,
                "size": each.size,
                "terms": list(each.terms),
                "stability": each.stability,
                "called": each.called or None,
                "examples": list(each.examples),
            }
            for each in found.clusters
        ]
    }


def _group_json(group: "FailureGroup[Failure]") -> dict[str, Any]:
    return {
        "values": list(group.values),
        "wrong": len(group.failures),
        "share": round(group.share, 4),
        "ci95": [round(end, 4) for end in group.ci95],
        "by_condition": dict(group.by_condition),
        "trials": [each.seen.trial for each in group.failures],
    }


def _failure_json(failure: "Failure", chances: "Mapping[str, float]") -> dict[str, Any]:
    seen = failure.seen
    return {
        **{key: getattr(seen, key) for key in ("trial", "question", "model", "condition", "repeat", "verdict")},
        "answer": failure.answer,
        "expected": failure.expected,
        "relation": failure.relation,
        "flip": failure.flip or None,
        "mechanism": failure.mechanism,
        "cluster": failure.cluster or None,
        "domain": seen.domain,
        "inclusion_probability": chances.get(seen.trial),
    }
