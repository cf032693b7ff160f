"""Three sets of recorded model outputs as stores, the flips in them, and those that were drawn for reading.

A flip is a question that one trial without tools answers right and another trial answers wrong: with a program in
`tatqa` and `gsm8k`, without tools and by another model in `mmlu_pro`, where no tool can be to blame.
"""

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from examples.gsm8k_tora import convert as gsm8k
from examples.tatqa import convert as tatqa

from toolablate.agents.scripted import literal
from toolablate.traces.records import ChoiceTarget, Question
from toolablate.traces.store import Store

Row = dict[str, Any]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DRAWN = Path(__file__).parent / "drawn.jsonl"
SIZES = {"tatqa": {"direct": 38, "cot": 36}, "gsm8k": 60, "mmlu_pro": 30}
"""Flips to draw; of `gsm8k` there are fewer, and all are taken."""
SEED = 19
DEV_SHARE = 0.4

SOLVERS = ("175b_verification", "175b_finetuning", "6b_verification", "6b_finetuning")
"""Conditions without tools of `gsm8k`, from the one that is right most often; a flip is of the first that is right."""

# Read before, when rules were changed because of some of them (docs/tatqa_flips.md), or in tests of the rules.
READ_BEFORE = ROOT / "docs/tatqa_flips.md"


@dataclass(frozen=True, slots=True)
class Flip:
    """`before` is the trial that is right, `after` the one that is wrong: conditions, of `mmlu_pro` models. Flips of
    one `cluster` (a table, or the question itself) are not independent."""

    id: str
    set: str
    question: str
    before: str
    after: str
    cluster: str
    half: str

    @classmethod
    def of(cls, name: str, question: Question, before: str, after: str) -> "Flip":
        identity = f"{name}/{question.id}/{before}"
        share = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16) / 16**8
        half = "dev" if share < DEV_SHARE else "test"
        return cls(identity, name, question.id, before, after, question.cluster or question.id, half)


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """`files` of the recorded data; `prepare` makes questions, scripts and `plan.toml` of them in a folder."""

    files: tuple[str, ...]
    prepare: Callable[[Sequence[Path], Path], None]


def _prepare_tatqa(files: Sequence[Path], folder: Path) -> None:
    tatqa.convert(files[0], folder / "data")
    (folder / "plan.toml").write_text((EXAMPLES / "tatqa/plan.toml").read_text(encoding="utf-8"), encoding="utf-8")


def _prepare_gsm8k(files: Sequence[Path], folder: Path) -> None:
    """ToRA's programs as in the example, and four other models' solutions in words beside them."""
    gsm8k.convert(files[0], folder / "data")
    solved = {row["question"]: row for row in gsm8k.read_rows(files[1])}
    with (folder / "data/script.jsonl").open("a", encoding="utf-8") as file:
        for row in gsm8k.read_rows(files[0]):
            for solver in SOLVERS:
                reply = literal(solved[row["question"]][solver]["solution"]).replace("\nA: ", "\nAnswer: ")
                line = {"question": gsm8k.question_id(row), "condition": solver, "replies": [{"content": reply}]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    plan = (EXAMPLES / "gsm8k_tora/plan.toml").read_text(encoding="utf-8")
    for solver in SOLVERS:
        plan += f'\n[[conditions]]\nname = "{solver}"\nprompt = "Solve the problem ({solver})."\n'
    # One recorded program never ends.
    plan += "\n[runner]\ntrial_seconds = 120\n"
    (folder / "plan.toml").write_text(f'baseline = "{SOLVERS[0]}"\n{plan}', encoding="utf-8")


def _prepare_mmlu_pro(files: Sequence[Path], folder: Path) -> None:
    """Four models, one condition and no tools."""
    rows = gsm8k.read_rows(files[0])
    plan = 'name = "mmlu_pro"\n[questions]\nfile = "data/questions.jsonl"\n[[conditions]]\nname = "none"\n'
    (folder / "data").mkdir(exist_ok=True)
    with (folder / "data/questions.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(_mmlu_question(row).to_json() + "\n" for row in rows)
    for model in rows[0]["outputs"]:
        with (folder / f"data/{model}.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                reply = {"content": literal(row["outputs"][model]["text"])}
                file.write(json.dumps({"question": str(row["question_id"]), "replies": [reply]}) + "\n")
        plan += f'[[models]]\nprovider = "scripted"\nname = "{model}"\nscript = "data/{model}.jsonl"\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")


def _mmlu_question(row: Row) -> Question:
    return Question(
        id=str(row["question_id"]),
        prompt=row["question"],
        choices=tuple(row["options"]),
        target=ChoiceTarget(letters=(row["answer"],)),
        domain=row["category"],
        source="MMLU-Pro",
    )


SETS = {
    "tatqa": RecordedSet(("tatqa_codex_conditions.jsonl",), _prepare_tatqa),
    "gsm8k": RecordedSet(("tora_70b_gsm8k.jsonl", "gsm8k_model_solutions.jsonl"), _prepare_gsm8k),
    "mmlu_pro": RecordedSet(("mmlu_pro_outputs.jsonl",), _prepare_mmlu_pro),
}


def make_store(name: str, data: Path, folder: Path) -> Path:
    """Of all rows of a set in `data`; every program is executed again. What is in the store of `folder` is not run
    again. Raises SystemExit where a file is not there, or the run is refused."""
    files, store = [data / each for each in SETS[name].files], folder / f"{name}.sqlite"
    if missing := [str(each) for each in files if not each.exists()]:
        sys.exit(f"the recorded data are not here: {', '.join(missing)} (--data, or TOOLABLATE_DATA, is their folder)")
    folder.mkdir(parents=True, exist_ok=True)
    SETS[name].prepare(files, folder)
    # 1 where a trial failed, and then it is on neither side of a flip.
    call("run", folder / "plan.toml", "--store", store, allowed=(0, 1))
    return store


def call(*arguments: object, allowed: tuple[int, ...] = (0,)) -> str:
    """What a command of toolablate prints. Raises SystemExit with its message where it fails."""
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command[2:])}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def arms_of(name: str, condition: str, model: str) -> str:
    """What a flip of the set calls a trial."""
    return model if name == "mmlu_pro" else condition


def flips_of(name: str, store: Path) -> list[Flip]:
    """All of a set, by question and by the trial that is right."""
    with Store(store) as opened:
        questions = {question.id: question for question in opened.questions()}
        seen = list(opened.summaries())
    right: dict[str, dict[str, bool]] = {}
    for each in seen:
        if each.value is not None:
            right.setdefault(each.question, {})[arms_of(name, each.condition, each.model)] = each.value == 1
    return [
        Flip.of(name, questions[question], before, after)
        for question, arms in sorted(right.items())
        for before, after in _turned(name, arms)
    ]


def _turned(name: str, right: Mapping[str, bool]) -> list[tuple[str, str]]:
    """Each (right, wrong) pair of one question's trials."""
    if name == "mmlu_pro":
        return [(one, other) for one in right for other in right if right[one] and not right[other]]
    after, befores = ("tora", SOLVERS) if name == "gsm8k" else ("pot", ("direct", "cot"))
    turned = [(before, after) for before in befores if right.get(before) and right.get(after) is False]
    return turned[:1] if name == "gsm8k" else turned


def draw(flips: Sequence[Flip], sizes: int | Mapping[str, int], rng: random.Random) -> list[Flip]:
    """So many at random, or so many of each `before`; no question twice."""
    drawn: list[Flip] = []
    for before, size in sizes.items() if isinstance(sizes, Mapping) else [(None, sizes)]:
        taken = {flip.question for flip in drawn}
        left = [flip for flip in flips if flip.question not in taken and before in (None, flip.before)]
        rng.shuffle(left)
        firsts = {flip.question: flip for flip in reversed(left)}
        drawn += sorted(firsts.values(), key=left.index)[:size]
    return drawn


def draw_all(stores: Mapping[str, Path]) -> list[Flip]:
    """What `drawn.jsonl` holds: without questions of `tatqa` that were read before."""
    known = READ_BEFORE.read_text(encoding="utf-8")
    found = []
    for name, store in stores.items():
        flips = [flip for flip in flips_of(name, store) if name != "tatqa" or f"`{flip.question[:8]}`" not in known]
        found += draw(flips, SIZES[name], random.Random(f"{SEED}/{name}"))
    return sorted(found, key=lambda flip: hashlib.sha256(flip.id.encode()).hexdigest())


def read_drawn(path: Path = DRAWN) -> list[Flip]:
    return [Flip(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def write_drawn(flips: Iterable[Flip], path: Path = DRAWN) -> None:
    path.write_text("".join(json.dumps(asdict(flip)) + "\n" for flip in flips), encoding="utf-8")
