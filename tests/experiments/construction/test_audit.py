"""What is known of a published set as a whole: whether its style gives answers away, and how much of it may be wrong."""

import json
import random
import re
from pathlib import Path

import pytest
from tests.experiments.construction.test_statements import pipeline_of
from tests.experiments.construction.writing import ALONE, funnel, run
from tests.servers.chat_server import ChatServer

from toolablate.experiments.construction.audit import audit_of, bounds, drawn
from toolablate.experiments.construction.style_guess import style_guess
from toolablate.experiments.construction.workbench import content_digest
from toolablate.traces.errors import InputError

WORDS = ("ring", "bonds", "salt, 3", "wave", "lenses", "cell", "root", "gene", "mass", "some flow", "heat", "pipe")

# Some of these are what a style is made of.
PLAIN = re.findall(
    r"\S+",
    "the salt of copper may rise, never falls at 20 degrees (in air) and often not all of it: 7 times; usually must only"
    " about some can",
)


def pairs(number: int, false: str) -> list[tuple[str, str]]:
    """Texts of like lengths; what is false ends in other words, if any."""
    draws = random.Random(5)
    texts = [(" ".join(draws.choices(WORDS, k=12)), " ".join(draws.choices(WORDS, k=12))) for _ in range(number)]
    return [(right, f"{wrong}{false}") for right, wrong in texts]


def test_a_style_that_gives_answers_away_is_found_and_chance_is_not() -> None:
    given_away = style_guess(pairs(60, ", always and in all cases"))
    assert (given_away.told, given_away.guessed, given_away.expected) == (60, 60, 30)
    # One of so many draws and what is: less cannot be told.
    assert given_away.p == 1 / 500
    fair = style_guess(pairs(400, ""))
    assert fair.p is not None
    assert fair.p > 0.01
    # The right one of six, when the others are shorter; and of pairs that differ in no style nothing is said.
    options = [(f"{right} and {right}", *[wrong] * 5) for right, wrong in pairs(40, "")]
    assert style_guess(options).guessed == 40
    # Two of six look the same, and the right one is always among them.
    twos = [(f"{right} (1)", f"{right} (2)", *[right] * 4) for right, _ in pairs(40, "")]
    found = style_guess(twos)
    assert (found.told, found.guessed, round(found.expected, 1)) == (40, 40, 13.3)
    alike = style_guess([("It melts at 300 K.", "It melts at 310 K.")] * 30)
    assert (alike.items, alike.told, alike.p) == (30, 0, None)
    assert style_guess([]).items == 0


@pytest.mark.deep
def test_where_style_tells_nothing_it_seldom_seems_to() -> None:
    """Guesses hang together: taken for independent ones, p < .05 came in 10 % of such sets."""
    runs, seldom = 400, 0
    for run_ in range(runs):
        draws = random.Random(run_)
        groups = [tuple(" ".join(draws.choices(PLAIN, k=draws.randint(8, 25))) for _ in "ab") for _ in range(60)]
        p = style_guess(groups, permutations=99).p
        seldom += p is not None and p <= 0.05
    assert 0.02 <= seldom / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_bounds_are_those_of_clopper_and_pearson_where_few_of_many_are_looked_at() -> None:
    two_sided, at_most = bounds(0, 200, 1_000_000, 0, 1_000_200)
    assert (two_sided[0], round(two_sided[1], 4), round(at_most, 4)) == (0.0, 0.0183, 0.0149)
    assert bounds(0, 200, 230, 0, 430)[1] == 4 / 430
    # All were looked at: there is nothing to estimate.
    assert bounds(2, 5, 0, 2, 5) == ((0.4, 0.4), 0.4)
    assert bounds(2, 5, 0, 0, 3) == ((0.0, 0.0), 0.0)


@pytest.mark.parametrize("kept", [True, False])
def test_bounds_cover_the_share_that_is_wrong_also_when_findings_are_mended(kept: bool) -> None:
    """Exactly, over all that a draw of 30 of 100 can find."""
    from scipy.stats import hypergeom

    items, everything = 30, 100
    known = {}
    for found in range(items + 1):
        published = everything if kept else everything - found
        known[found] = published, *bounds(found, items, everything - items, found if kept else 0, published)
    for wrong in (0, 1, 3, 8, 20, 50, 99, 100):
        within = below = 0.0
        for found, (published, (low, high), at_most) in known.items():
            chance = hypergeom.pmf(found, everything, wrong, items)
            share = (wrong if kept else wrong - found) / published
            within += chance * (low <= share <= high)
            below += chance * (share <= at_most)
        assert within >= 0.95 - 1e-9, wrong
        assert below >= 0.95 - 1e-9, wrong


def test_findings_that_were_acted_on_still_speak_for_what_nobody_looked_at(tmp_path: Path) -> None:
    draws = random.Random(1)
    before = {f"{number:064x}": {"text": f"{number}", "wrong": draws.random() < 0.1} for number in range(1000)}
    sample = drawn(before, 200, 0)
    path = tmp_path / "audit.jsonl"
    path.write_text(
        "".join(
            json.dumps({"item": each, "seen": content_digest(before[each]), "right": not before[each]["wrong"]}) + "\n"
            for each in sample
        ),
        encoding="utf-8",
    )
    earlier = {item: {content_digest(content)} for item, content in before.items()}
    found = [item for item in sample if before[item]["wrong"]]
    assert len(found) > 10
    # Half of them are mended, the others rejected.
    after = {item: content for item, content in before.items() if item not in found[::2]}
    after |= {item: {"text": f"{item}, mended", "wrong": False} for item in found[1::2]}
    share = sum(bool(each["wrong"]) for each in after.values()) / len(after)
    audit = audit_of(str(path), after, earlier)
    assert (audit.items, audit.wrong, audit.mended) == (200, len(found), len(found))
    assert audit.ci95 is not None
    assert audit.ci95[0] <= share <= audit.ci95[1]
    assert audit.at_most is not None
    assert audit.at_most >= share > 0.05
    assert not audit.not_counted
    # What was right and is another text by now says that more has changed than what was found.
    rebuilt = {item: {**content, "text": f"{content['text']} or so"} for item, content in before.items()}
    (reason,) = audit_of(str(path), rebuilt, earlier).not_counted
    assert "draw anew" in reason


def test_rows_of_what_was_not_drawn_do_not_count(tmp_path: Path) -> None:
    contents = {f"{number:064x}": {"text": f"{number}"} for number in range(100)}
    path = tmp_path / "audit.jsonl"

    def audited(items: list[str], seed: int = 0) -> tuple[int, dict[str, list[int]]]:
        rows = [{"item": each, "seen": content_digest(contents[each]), "seed": seed, "right": True} for each in items]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        audit = audit_of(str(path), contents, {})
        return audit.items, {why.partition(" ")[0]: [*numbers] for why, numbers in audit.not_counted.items()}

    first = drawn(contents, 20, 0)
    assert audited(first[::-1]) == (20, {})
    assert audited([*first[:9], *first[10:]]) == (9, {"an": [*range(10, 20)]})
    assert audited(sorted(contents)[:3]) == (0, {"an": [1, 2, 3]})
    # Of another draw some may be the first by chance.
    assert audited(first, seed=1)[0] < 3
    # Who draws more has the same first ones, and so has who draws of what is left.
    assert drawn(contents, 30, 0)[:20] == first
    assert drawn({item: contents[item] for item in contents if item != first[3]}, 19, 0) == first[:3] + first[4:]


def test_people_audit_what_is_published(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, f"{ALONE}[card]\n")
    funnel(path)
    published = tmp_path / "published/statements.jsonl"
    whole = published.read_text(encoding="utf-8")
    published.write_text("".join(whole.splitlines(keepends=True)[2:]), encoding="utf-8")
    differs = run("audit", path, code=1).exception
    assert isinstance(differs, InputError)
    assert "what is published is not what the workbench has by now" in differs.message
    published.unlink()
    assert "is not there yet" in str(run("audit", path, code=1).exception)
    published.write_text(whole, encoding="utf-8")
    rows = [json.loads(line) for line in run("audit", path, "-n", "2").output.splitlines()]
    assert rows == [json.loads(line) for line in run("audit", path).output.splitlines()][:2]
    said = [{**rows[0], "right": True}, {**rows[1], "right": False, "reason": "holds"}, {**rows[0], "seen": "0" * 64}]
    said[2]["right"] = False
    text = rows[1]["source"]["text"]
    audited = tmp_path / "audit.jsonl"
    path.write_text(
        path.read_text(encoding="utf-8").replace("[card]", '[card]\naudit = "audit.jsonl"'), encoding="utf-8"
    )
    line = path.read_text(encoding="utf-8").splitlines().index('audit = "audit.jsonl"') + 1
    for command in (("status",), ()):
        missing = run(*command, path, code=1).exception
        assert isinstance(missing, InputError)
        assert f"line {line}: card.audit: " in missing.message
    assert run("audit", path).output, "draws what the file is to be made of"
    audited.write_text("".join(f"{json.dumps(each)}\n" for each in said), encoding="utf-8")
    told = " ".join(run("status", path).output.split())
    assert "Audit: 1 of 2 items drawn were not right; of all 3 that are published 33.3 to 66.7 % are not (95 %" in told
    assert "Audit: 1 row not counted, `seen` is of no text that was published: row 3" in told
    assert "By style alone: " in told
    funnel(path)
    assert "- Audit: 1 of 2 items drawn" in (tmp_path / "published/card.md").read_text(encoding="utf-8")
    short = {"item": rows[0]["item"][:6] + "...", "seen": rows[0]["seen"], "right": True}
    lost = [short, {**rows[0], "seen": rows[0]["seen"][:4]}, *[{"item": "99", "seen": "1", "right": True}] * 12]
    audited.write_text("".join(f"{json.dumps({'right': True, **each})}\n" for each in lost), encoding="utf-8")
    told = " ".join(run("status", path).output.split())
    assert (
        "Audit: 12 rows not counted, `item` is none that was published: rows 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ..."
        in told
    )
    assert "Audit: 1 row not counted, `item` is not the whole id: row 1" in told
    assert "Audit: 1 row not counted, `seen` is not whole: row 2" in told
    assert "were not right" not in told
    audited.write_text(json.dumps({**rows[0], "right": "yes"}), encoding="utf-8")
    wrong = run("status", path, code=1).exception
    assert isinstance(wrong, InputError)
    assert "'right' must be true or false" in wrong.message
    # The wrong one is taken out: it stays a finding.
    audited.write_text("".join(f"{json.dumps(each)}\n" for each in said[:2]), encoding="utf-8")
    items = tmp_path / "statements.jsonl"
    left = [row for row in items.read_text(encoding="utf-8").splitlines() if json.loads(row)["text"] != text]
    items.write_text("\n".join(left), encoding="utf-8")
    funnel(path)
    told = " ".join(run("status", path).output.split())
    assert "Audit: 1 of 2 items drawn were not right, 1 of them mended or taken out since; of all 2 that are" in told
