"""What is said of finished traces: by scorers, by judges of failures, by people."""

import sqlite3
from collections.abc import Callable, Sequence

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Diagnosis, Label, Question, Score
from toolablate.traces.store.content.digests import content_digest, record_content
from toolablate.traces.store.writing.attempts import unplanned
from toolablate.traces.store.writing.writer import Desk


def score(scores: Sequence[Score]) -> Callable[[Desk], frozenset[str]]:
    """Leaves out scores by a target that the question has no more; gives the ids of their trials."""

    def write(desk: Desk) -> frozenset[str]:
        outdated = set()
        for given in scores:
            trial, trace, target = scorable(desk.connection, given.trial)
            if given.target not in ("", target):
                outdated.add(given.trial)
                continue
            content = record_content(given)
            desk.connection.execute(
                "INSERT OR REPLACE INTO scores (trial, scorer, version, trace, value, verdict, digest, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    trial,
                    given.scorer,
                    given.scorer_version,
                    trace,
                    given.value,
                    given.verdict,
                    content_digest(content),
                    desk.texts.pack(content),
                ),
            )
        return frozenset(outdated)

    return write


def scorable(connection: sqlite3.Connection, identity: str) -> tuple[int, int, str]:
    row = connection.execute(
        "SELECT trials.key, current, outcome, lower(hex(target)) FROM trials"
        " JOIN questions ON questions.key = question WHERE trials.id = ?",
        (identity,),
    ).fetchone()
    if row is None:
        raise unplanned(identity)
    if row[2] not in ("answered", "budget"):
        raise StoreError(
            f"Trial {identity} has no finished trace that could be scored",
            hint="A trial that infrastructure spoiled is run again, never scored.",
            code="not_scorable",
        )
    return int(row[0]), int(row[1]), str(row[3])


def drop_scores_of_another_target(desk: Desk, question: Question) -> None:
    """After a mended answer key no score of the question stands, under whatever condition or scorer."""
    find = "SELECT key, lower(hex(target)) FROM questions WHERE id = ?"
    row = desk.connection.execute(find, (question.identity(),)).fetchone()
    if row is not None and row[1] != question.key_identity():
        desk.connection.execute(
            "DELETE FROM scores WHERE trial IN (SELECT key FROM trials WHERE question = ?)", (row[0],)
        )


def diagnose(diagnoses: Sequence[Diagnosis]) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        for given in diagnoses:
            trial, trace, _ = scorable(desk.connection, given.trial)
            content = record_content(given)
            desk.connection.execute(
                "INSERT OR REPLACE INTO diagnoses (trial, judge, wording, trace, digest, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (trial, given.judge, given.wording, trace, content_digest(content), desk.texts.pack(content)),
            )

    return write


def keep_label(label: Label) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        trial, trace, _ = scorable(desk.connection, label.trial)
        content = record_content(label)
        desk.connection.execute(
            "INSERT INTO labels (trial, trace, person, digest, body) VALUES (?, ?, ?, ?, ?)",
            (trial, trace, label.person, content_digest(content), desk.texts.pack(content)),
        )

    return write
