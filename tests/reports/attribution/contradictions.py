"""What the printed page of a trial says that its own table, probabilities or command line contradict."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from tests.reports.attribution.samples import page

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.cli import group
from toolablate.experiments.attribution.explained import explained
from toolablate.reports.terminal.explanation import explanation_view
from toolablate.traces.records import Mechanism
from toolablate.traces.store import Store

_OWN = "the model's own error"
_COUNT = re.compile(r"\b(\d+) of (\d+)\b")


PARTS = ("What went wrong", "In short", "How this is known", "What speaks against it", "What is not known")


def sections(shown: str) -> dict[str, str]:
    """What a printed page has below each title, on one line."""
    found: dict[str, str] = {}
    title = ""
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            title = line.strip()
        else:
            found[title] = f"{found.get(title, '')} {line.strip()}".strip()
    return found


def contradictions(told: Explanation) -> list[str]:
    shown = page(explanation_view(told))
    return [*_of_sentences(told, sections(shown)), *(said for each in _commands(shown) for said in _of_a_command(each))]


def _of_sentences(told: Explanation, text: dict[str, str]) -> Iterator[str]:
    attribution = told.explained.attribution
    whole = " ".join(text.get(part, "") for part in PARTS)
    yield from _of_early_answers(told, whole)
    yield from _of_counts(whole.partition(text.get(PARTS[-1], "\0"))[0], text)
    if attribution is None:
        yield from (f"a cause of what is not wrong: {whole}" for word in ("because of", "probability") if word in whole)
        return
    shares: dict[Mechanism, float] = dict(attribution.shares) or {attribution.mechanism: attribution.confidence}
    headline = text["What went wrong"]
    together = sum(shares.get(each, 0.0) for each in BY_CHANCE)
    if attribution.mechanism in BY_CHANCE and shares.get(attribution.mechanism, 0.0) < max(shares.values()) <= together:
        # One hypothesis under two names, which outweighs the most probable cause.
        shares = {**shares, attribution.mechanism: together}
    yield from _of_the_headline(headline, shares)
    known = "The cause is not known" not in headline
    if attribution.method != "replay" and ("because of" in headline or (known and "hypothesis" not in headline)):
        yield f"certain of what no replay has tested: {headline}"
    if "because of" in headline:
        yield from _of_restoring(text["How this is known"])


def _of_the_headline(headline: str, shares: dict[Mechanism, float]) -> Iterator[str]:
    """The most probable cause, with its probability, and a word that this bears."""
    most = max(shares.values())
    first = headline.split(", then ")[0]
    if not any(_is_named(each, first) for each, share in shares.items() if share == most):
        yield f"not the most probable cause, of {shares}: {headline}"
    for word, least in (("almost certainly", 0.95), ("very likely", 0.8), ("probably", 0.5), ("because of", 0.5)):
        if word in headline.lower() and most < least:
            yield f"{word!r} at {most}: {headline}"
    if most >= 0.5 and "No cause is more likely than not" in headline:
        yield f"none is likely at {most}"
    told = re.search(r"probability[^.]*?: ?(?:over )?(\d?\.\d+)|probability (?:over )?(\d?\.\d+)", first)
    if told is None or abs(float(told[1] or told[2]) - most) > 0.0101:
        yield f"another probability than {most}: {headline}"


def _is_named(cause: Mechanism, first: str) -> bool:
    if cause == "unknown":
        return "not known" in first
    return f"({mechanism_name(cause)})" in first or (cause == "own_error" and _OWN in first)


def _of_early_answers(told: Explanation, whole: str) -> Iterator[str]:
    trajectory = told.explained.evidence.trajectory
    first = next((each for each in trajectory.beliefs if each.step == 0), None) if trajectory else None
    wrong = first is not None and first.right.mean < 0.5
    if ("Wrong before any tool" in whole) != wrong:
        yield f"wrong before any tool, or not: {first}: {whole}"
    if "Right before any tool" in whole and (first is None or first.right.mean <= 0.5):
        yield f"right before any tool: {first}"


def _of_counts(sentences: str, text: dict[str, str]) -> Iterator[str]:
    """Counts of sentences are those of the table, or of a step."""
    known = set(_COUNT.findall(text.get("Runs to compare with", "")))
    known |= set(re.findall(r"\b(\d+)/(\d+)\b", text.get("What it did", "")))
    for count in _COUNT.findall(sentences):
        if count not in known:
            yield f"{count} is not in the table: {sorted(known)}: {sentences}"


def _of_restoring(known: str) -> Iterator[str]:
    """The runs without the cause are right more often than those with it."""
    pair = r"(\d+) of (\d+) answers are right(?:; [^;]*?, (\d+) of (\d+)){}\."
    found = re.search(pair.format(""), known) or re.search(pair.format("?"), known)
    if found is None:
        yield f"nothing decides it: {known}"
        return
    undone, before = int(found[1]) / int(found[2]), int(found[3] or 0) / int(found[4] or 1)
    if undone <= before:
        yield f"it restores nothing: {known}"


def _commands(shown: str) -> Iterator[list[str]]:
    """As a shell takes them from the page: a line that ends in a backslash goes on."""
    for line in shown.replace("\\\n", " ").splitlines():
        words = shlex.split(line) if line.strip().startswith("toolablate ") else []
        if words:
            yield words[1:]


def _of_a_command(arguments: list[str]) -> Iterator[str]:
    """Parsed as the command line parses it, and not run."""
    command: Any = group
    try:
        context = click.Context(group)
        while isinstance(command, click.Group):
            name, command, arguments = command.resolve_command(context, arguments)
            context = click.Context(command, parent=context, info_name=name)
        command.make_context(context.info_name, list(arguments), parent=context.parent, resilient_parsing=False)
    except click.ClickException as error:
        yield f"{arguments}: {error.format_message()}"


def contradictions_of(store: Path) -> dict[str, list[str]]:
    """Of every trial of a store that can be explained, by trial; those without any among them."""
    gathered = explained(store)
    found: dict[str, list[str]] = {}
    with Store(store) as opened:
        for each in gathered.explained:
            trial = each.evidence.inputs.trial
            trace = opened.trace(trial)
            found[trial] = contradictions(
                Explanation(
                    explained=each,
                    question=opened.question(trace.trial.question),
                    conversation=trace.events,
                    outcome=trace.outcome,
                    repeat=trace.trial.repeat,
                    store=str(store),
                    provider=opened.model(trace.trial.model).provider,
                    design=gathered.design,
                )
            )
    return found
