"""What the store holds: many questions, each for two models under five conditions, every trial with twenty events."""

import json
import random
from pathlib import Path

from bench.store.contents import LETTERS
from bench.store.sources import Sources

CONDITIONS = ("plain", "checked", "brief", "doubting", "patient")
ARMS = 2 * len(CONDITIONS)
DIFFICULTIES = ("easy", "medium", "hard")


def write_plan(folder: Path, sources: Sources, *, questions: int, repeats: int) -> Path:
    """Returns the plan's path. All conditions have a tool, so that none of their traces can be left unread."""
    write_questions(folder, sources, questions)
    models = "".join(
        f'[[models]]\nprovider = "simulated"\nname = "model-{name}"\nseed = {seed}\n'
        for seed, name in enumerate(("one", "two"))
    )
    conditions = "".join(
        f'[[conditions]]\nname = "{name}"\nprompt = "You may run Python. Be {name}."\ntools = ["python"]\n'
        for name in CONDITIONS
    )
    plan = folder / "plan.toml"
    head = f'name = "bench-viewer"\nbaseline = "plain"\nrepeats = {repeats}\n[questions]\nfile = "questions.jsonl"\n'
    plan.write_text(head + models + conditions, encoding="utf-8")
    return plan


def write_questions(folder: Path, sources: Sources, count: int) -> None:
    """Into `questions.jsonl`."""
    rng = random.Random(0)
    lines = [json.dumps(_question(number, sources.about(f"q{number}"), rng)) + "\n" for number in range(count)]
    (folder / "questions.jsonl").write_text("".join(lines), encoding="utf-8")


def _question(number: int, sources: Sources, rng: random.Random) -> dict[str, object]:
    choices = list(dict.fromkeys(_words(sources.thought(rng), 12) for _ in range(10)))
    return {
        "id": f"q{number}",
        "prompt": f"Question {number}: {_words(sources.thought(rng), 60)}?",
        "choices": choices,
        "target": {"kind": "choice", "letters": [LETTERS[rng.randrange(len(choices))]]},
        "domain": f"domain {number % 14}",
        "difficulty": DIFFICULTIES[number % 3],
    }


def _words(text: str, count: int) -> str:
    return " ".join(text.split()[:count]) or "none of these"
