"""What the printed page of a trial says that its own table, probabilities or command line contradict."""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from tests.reports.attribution.samples import page
from tests.reports.attribution.weighed_contradictions import (
    counted_otherwise,
    rests_otherwise,
    sourced_otherwise,
    weighed_otherwise,
)

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.cli import group
from toolablate.experiments.attribution.explained import explained
from toolablate.reports.html.beliefs import falling
from toolablate.reports.terminal.explanation import MOST_LINES, explanation_view, step_lines, steps_table
from toolablate.reports.why import turn
from toolablate.reports.why.against import NOTHING
from toolablate.reports.why.causes import CAUSES, FIRST_REPLY, WORDS, WRONG_ANYWAY, ranked, unchanged
from toolablate.reports.why.changed_runs import REPEATS, Row, levels_of, uncounted
from toolablate.reports.why.page import AGAINST, AGAINST_EACH, WhyPart, why
from toolablate.reports.why.rungs import ALL_RUNS, NOT_COUNTED, OF_THE_TURN, Rung, RunLine
from toolablate.reports.why.turn import asked_at, split_at, turn_of
from toolablate.traces.records import Attribution, Mechanism
from toolablate.traces.store import Store

OTHERS = "What else it may be"
PARTS = ("Verdict", "How we know", "How sure", AGAINST, OTHERS, "What would tell")
_RIGHT = re.compile(r"\b(\d+) of (\d+) right\b")


def sections(shown: str) -> dict[str, str]:
    """What a printed page has below each title, on one line."""
    found: dict[str, str] = {}
    title = ""
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            title = _title(line.strip())
        else:
            found[title] = f"{found.get(title, '')} {line.strip()}".strip()
    return found


def _title(shown: str) -> str:
    return AGAINST if shown == AGAINST_EACH else shown


def contradictions(told: Explanation) -> list[str]:
    shown = page(explanation_view(told))
    return [*_of_sentences(told, why(told), sections(shown)), *_of_commands(shown)]


def _of_sentences(told: Explanation, parts: tuple[WhyPart, ...], text: dict[str, str]) -> Iterator[str]:
    attribution = told.explained.attribution
    rungs = tuple(rung for part in parts for rung in part.rungs)
    # The table stands among the sentences of a printed page.
    said = {
        _title(part.title): _flat(*(getattr(each, "text", each) for each in (*part.lines, *part.notes)))
        for part in parts
    }
    whole = " ".join(said.get(part, "") for part in PARTS)
    printed = {word.strip(":") for word in text.get("How we know", "").split()}
    if any(word.strip(":") not in printed for rung in rungs for word in rung.taken.split()):
        yield f"a table that is not on the page: {text}"
    yield from _of_events(told, whole)
    yield from _of_marks(told, whole)
    yield from _of_rungs(rungs)
    if attribution is None:
        yield from (f"a cause of what is not wrong: {whole}" for word in ("Probability", "It may be") if word in whole)
        return
    in_lists = turn.as_told(attribution, told.explained.evidence.outline()).turned_at
    if in_lists != next(iter(falling(told)), None):
        yield f"lists say that it turned at event {in_lists}: {[*falling(told)]}"
    yield from _of_the_verdict(attribution, said["Verdict"])
    yield from _of_probabilities(said, rungs)
    yield from _of_counts(told, rungs, whole)
    yield from _of_replays(rungs, attribution, said["Verdict"])
    yield from _of_early_answers(told, said["Verdict"], said.get(AGAINST, ""))
    of_several = said["How we know"] if said["Verdict"].startswith("Undecided") else ""
    yield from _of_rivals(attribution, said["Verdict"], said.get(AGAINST, ""), f"{said.get(OTHERS, '')} {of_several}")
    yield from weighed_otherwise(told, rungs, attribution, said)
    lead = said["How we know"]
    yield from rests_otherwise(told, rungs, lead, said)
    yield from counted_otherwise(rungs, lead)
    yield from sourced_otherwise(told, whole)
    yield from _of_definitions(whole)


def _flat(*lines: str) -> str:
    return " ".join(" ".join(lines).split())


# Rows of the table.


def _right_of(count: str) -> tuple[int, int]:
    """Of `2 of 3`."""
    right, _, runs = count.partition(" of ")
    return int(right), int(runs)


def _of_rungs(rungs: tuple[Rung, ...]) -> Iterator[str]:
    """No kind of run stands on two rungs, and the count of a rung is that of its kinds."""
    names = [name for each in rungs for name, *_ in each.rows]
    if len(names) != len(set(names)):
        yield f"a row stands twice: {names}"
    if _graded(rungs):
        return
    for each in rungs:
        counts = [_right_of(count) for _, count, _ in each.rows if count]
        total = tuple(map(sum, zip(*counts, strict=True)))
        if each.came and counts and _right_of(each.came) != total:
            yield f"{each.taken}: {each.came}, and its rows have {total}"


def _counted(rungs: tuple[Rung, ...]) -> list[tuple[int, int]]:
    """Without the other repeats of a trial that was not run again."""
    others = (NOT_COUNTED, OF_THE_TURN, ALL_RUNS)
    counted = (each for each in rungs if not each.taken.startswith(others) and each.rows[:1] != _REPEATS)
    return [_right_of(each.came) for each in counted if each.came]


_REPEATS = (RunLine(REPEATS, ""),)


def _of_counts(told: Explanation, rungs: tuple[Rung, ...], whole: str) -> Iterator[str]:
    """Counts of sentences are those of a rung, of a row, or of early answers."""
    if _graded(rungs):
        return
    evidence = told.explained.evidence
    known = {_right_of(count) for each in rungs for _, count, _ in each.rows if count} | {*_counted(rungs)}
    known |= {_right_of(each.came) for each in rungs if each.came}
    known.add((sum(right for right, _ in _counted(rungs)), sum(runs for _, runs in _counted(rungs))))
    known.add(_at_outset(evidence))
    known.add((int(evidence.inputs.score + sum(evidence.repeats)), 1 + len(evidence.repeats)))
    known |= {(line.right, line.samples) for line in step_lines(told) if line.samples}
    turn = turn_of(evidence)
    known |= {(each.right, each.asked) for each in (turn.before, turn.after)} if turn else set()
    for pair in itertools.permutations([*levels_of(evidence), *uncounted(evidence)], 2):
        if f" right ({pair[0].changed} and {pair[1].changed})" in whole:
            known.add(_sum([*pair]))
    known.add(_sum(unchanged(evidence)))
    for event in range(len(told.conversation)):
        known |= {(each.right, each.asked) for each in split_at(event, evidence) if each}
    for said in _RIGHT.findall(whole):
        if (int(said[0]), int(said[1])) not in known:
            yield f"{said} is not in the table, {sorted(known)}: {whole}"


def _sum(rows: list[Row]) -> tuple[int, int]:
    return int(sum(row.right for row in rows)), int(sum(row.runs for row in rows))


def _at_outset(evidence: Evidence) -> tuple[int, int]:
    """Right early answers before any call, and all, in this trial and in its other repeats."""
    own = [each for each in (evidence.trajectory.beliefs if evidence.trajectory else ()) if each.step == 0]
    right = sum(round(each.right.mean * each.samples) for each in own) + int(sum(evidence.outset))
    return right, sum(each.samples for each in own) + len(evidence.outset)


FORM = "the form of its answer"


def _of_replays(rungs: tuple[Rung, ...], attribution: Attribution, verdict: str) -> Iterator[str]:
    """So many as the rungs have; counted, or not."""
    mine = sum(runs for _, runs in _counted(rungs)) if not _graded(rungs) else None
    said = re.search(r"the (\d+) answers counted below", verdict)
    if said and mine is not None and int(said[1]) != mine:
        yield f"{said[0]}, and the table has {mine}"
    form = next((_right_of(rung.came)[1] for rung in rungs if rung.taken == FORM), None) if not _graded(rungs) else None
    once_more = re.search(r"from (\d+) answers? that it was asked for once more", verdict)
    if once_more and form and int(once_more[1]) != form:
        yield f"other answers for the form than {form}: {once_more[0]}"
    if (said is not None or once_more is not None) != (attribution.method == "replay"):
        yield f"counted, or not: {verdict}"


def _graded(rungs: tuple[Rung, ...]) -> bool:
    return any("mean " in count for each in rungs for count in (each.came, *(row.came for row in each.rows)))


# Probabilities.


def _of_the_verdict(attribution: Attribution, verdict: str) -> Iterator[str]:
    """The most probable cause, with its probability, and a word that this bears."""
    shares = dict(ranked(attribution))
    most = max(shares.values())
    undecided = verdict.startswith("Undecided")
    first = re.split("; | Less likely" if undecided else "robability ", verdict)[0]
    likeliest = ["The cause is not known" if each == "unknown" else CAUSES[each][0] for each in shares]
    likeliest = [name for name, share in zip(likeliest, shares.values(), strict=True) if share == most]
    if not any(name in first for name in likeliest):
        yield f"not the most probable cause, of {shares}: {verdict}"
    said = re.findall(r"(?:robability|\):) (\d?\.\d+)", verdict)
    if not any(abs(float(each) - most) <= 0.011 for each in said):
        yield f"another probability than {most}: {verdict}"
    for least, word in WORDS:
        if verdict.lower().startswith(word) and most < least - 0.006:
            yield f"{word!r} at {most}: {verdict}"
    unsure, unknown = "No cause is more likely than not" in verdict, "not known" in verdict
    if not undecided and (most < 0.5) != unsure and not unknown:
        yield f"a word for how sure, or none, at {most}: {verdict}"
    if undecided and most >= 0.59:
        yield f"undecided at {most}: {verdict}"
    if not unknown:
        yield from _of_rank(shares, first, undecided=undecided)
    needless = sum(shares.get(each, 0.0) for each in BY_CHANCE)
    other = ranked(attribution)[0][0] not in (*BY_CHANCE, "unknown")
    if other and needless > most + 0.02 and all(shares.get(each, 0.0) > 0.01 for each in BY_CHANCE) and not undecided:
        yield f"decided, and by chance or its own error it is {needless}: {verdict}"
    together = re.search(r"need no tool, together: (\d?\.\d+)", verdict)
    if together and (abs(float(together[1]) - needless) > 0.011 or float(together[1]) <= most - 0.006):
        yield f"another probability together than {needless}, beside {most}: {verdict}"


def _of_rank(shares: Mapping[Mechanism, float], first: str, *, undecided: bool) -> Iterator[str]:
    """None is left behind that is nearly as likely as the most probable one, or half as likely where several are."""
    most = max(shares.values())
    left = max((share for each, share in shares.items() if CAUSES[each][0] not in first), default=0.0)
    half = left >= most / 2 + 0.01
    if left >= 0.11 and most - left < (0.14 if half else 0.09):
        yield f"ranked, with {most} and {left}: {first}"
    if half and undecided and "need no tool, together" not in first:
        yield f"undecided without a cause of {left} beside {most}: {first}"


def _of_probabilities(text: dict[str, str], rungs: tuple[Rung, ...]) -> Iterator[str]:
    """No cause has two; where the table has none, they add to 1."""
    verdict, against = text["Verdict"], text.get(OTHERS, "")
    named = re.findall(r"It may be ([^(]*) \(", against)
    if len(named) != len(set(named)):
        yield f"two probabilities of a cause: {named}"
    if any(re.search(r"\d", rung.cause) for rung in rungs):
        return
    said = [*re.findall(r"robability (\d?\.\d+)", verdict)]
    if verdict.startswith("Undecided"):
        said = re.findall(r": (\d?\.\d+)", verdict.partition(";")[0])
    said += re.findall(r"It may be [^(]*\([^)]*\): (\d?\.\d+)", against)
    said += re.findall(r"All others[^:]*: (\d?\.\d+)", against)
    # What is left is named from .03 on.
    if round(sum(map(float, said)), 2) not in ((1,) if "All others" in against else (0.98, 0.99, 1)):
        yield f"probabilities that add to {sum(map(float, said))}: {text}"


def _of_rivals(attribution: Attribution, verdict: str, against: str, others: str) -> Iterator[str]:
    """All that are likely enough are named; nothing is found only where nothing is."""
    for cause, share in ranked(attribution)[1:]:
        name = CAUSES[cause][0]
        if share >= 0.105 and name not in verdict and f"{name} (" not in others.lower():
            yield f"silent on {cause}, {share}: {verdict} {others}"
    if NOTHING in against and re.search("[Aa]gainst|arly answers|same wrong answer|a sign of", against):
        yield f"nothing, and something: {against}"
    if not against.strip():
        yield "silent on what speaks against it"


def _of_definitions(whole: str) -> Iterator[str]:
    """Each cause is said to be what it is once."""
    for name, what in (
        *CAUSES.values(),
        (CAUSES["sampling_noise"][0], FIRST_REPLY),
        (CAUSES["sampling_noise"][0], WRONG_ANYWAY),
    ):
        if whole.count(f"{name} ({what})") > 1:
            yield f"{name}, defined twice: {whole}"


# Early answers, events.


def _of_early_answers(told: Explanation, verdict: str, against: str) -> Iterator[str]:
    """What they say against a cause is said, by their counts."""
    right, asked = _at_outset(told.explained.evidence)
    said = re.search(r"[Bb]efore any call (\d+) of (\d+) early answers", against)
    if said and (int(said[1]), int(said[2])) != (int(right), asked):
        yield f"other early answers than {right} of {asked}: {against}"
    first = verdict.partition(", or " if "need no tool" in verdict else ":")[2 if "need no tool" in verdict else 0]
    needs_call = not re.search(r"sampling noise|own error|availability|prompt \(|condition brings|not known", first)
    if needs_call and 2 * right < asked and said is None:
        yield f"silent on early answers, {right} of {asked}: {against}"
    turn = turn_of(told.explained.evidence)
    worse = re.search(
        r"turn wrong .*?events? (\d+).*?\((\d+) of (\d+) right before it, (\d+) of (\d+) after it", against
    )
    if worse and turn:
        steps, sums = told.explained.evidence.steps, [[0, 0], [0, 0]]
        for each in asked_at(told.explained.evidence):
            of = sums[steps[each.step] > int(worse[1])]
            of[0], of[1] = of[0] + round(each.right.mean * each.samples), of[1] + each.samples
        if [*map(int, worse.groups()[1:])] != [*sums[0], *sums[1]]:
            yield f"a turn by {sums}: {against}"
    if worse and turn is None:
        yield f"a turn that early answers do not have: {against}"


def _of_events(told: Explanation, whole: str) -> Iterator[str]:
    """Events that are named have a row of the page, where it shows all."""
    if len(list(step_lines(told))) > MOST_LINES:
        return
    table = page(steps_table(told, 300), 300)
    shown = {int(number) for number in re.findall(r"^ {1,7}(\d+) (?=\S)", table, re.MULTILINE)}
    for several in re.findall(r"\bevents? (\d+(?:(?:, | and | to )\d+)*)", whole):
        away = [int(event) for event in re.findall(r"\d+", several) if int(event) not in shown]
        if away:
            yield f"an event that the page has not: {several} of {shown}: {whole}"


def _of_marks(told: Explanation, whole: str) -> Iterator[str]:
    """Events are marked as those where the belief falls only where no sentence says that this is not known."""
    if falling(told) and ("at no clear place" in whole or "the last that were asked for" in whole):
        yield f"a fall at {[*falling(told)]}: {whole}"


def _of_commands(shown: str) -> Iterator[str]:
    """At most one, whole, as a shell takes it from the page and the command line parses it."""
    lines = [line for line in shown.replace("\\\n", " ").splitlines() if line.strip().startswith("toolablate ")]
    if len(lines) > 1 or re.search(r"\b(NAME|PLAN|STORE|TRIAL)\b", " ".join(lines)):
        yield f"not one whole command: {lines}"
    for line in lines:
        yield from _of_a_command(shlex.split(line)[1:])


def _of_a_command(arguments: list[str]) -> Iterator[str]:
    """Parsed as the command line parses it, and not run."""
    command: Any = group
    try:
        # Its settings as well: a command keeps the names of its option for help that it was first made with.
        context = click.Context(group, **group.context_settings)
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
                    rates=gathered.rates,
                )
            )
    return found
