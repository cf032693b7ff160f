"""Answers of a store are compared blind in both orders, once each, and the figures are told beside their noise floor."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.plan_files import wait_for
from tests.experiments.preferring.judging import answered_store, prefers, shown_answers
from tests.experiments.replay.scenes import run
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.cli import group
from toolablate.experiments.preferring import PreferenceReport, prefer
from toolablate.traces.errors import InputError

ANSWERS = {
    "none": {"q0": ["BAD", "BAD too"], "q1": ["OK x", "OK"], "q2": ["GOOD", "OK"], "q3": ["same", "same"]},
    "scaffold": {
        "q0": ["GOOD long and long", "OK"],
        "q1": ["BAD", "OK y"],
        "q2": ["FIRST", "GOOD"],
        "q3": ["same", "x"],
    },
}


def only_row(report: PreferenceReport) -> Any:
    (row,) = report.rows
    return row


def test_answers_are_compared_in_both_orders_beside_their_noise_floor(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    graded = len(chat_server.requests)
    report, work = prefer(store, baseline="none")
    row, (floor,) = only_row(report), report.noise
    figures = row.figures
    # q0 wins twice, q1 loses and ties, q2 turns with the order and wins, q3 has equal texts and a tie.
    assert (figures.pairs, figures.wins, figures.losses, figures.ties, figures.by_rule) == (8, 3, 1, 4, 1)
    assert figures.net_points == pytest.approx(100 * (1 + -0.5 + 0.5 + 0) / 4)
    assert figures.turned == pytest.approx(100 * (0 + 0 + 0.5 + 0) / 4)
    assert (floor.figures.pairs, floor.figures.ties, floor.figures.losses) == (4, 3, 1)
    assert (row.unread, row.missing, row.one_sided) == (0, 0, 0)
    asked = [shown_answers(each) for each in chat_server.requests[graded:]]
    assert len(asked) == 2 * (7 + 3)
    assert {(one, other) for one, other in asked if one and other} == {(other, one) for one, other in asked if one}
    (judge,) = work.judges
    assert (judge.graded, judge.requests) == (20, 20)
    assert judge.cost_usd > 0


def test_nothing_is_asked_twice_and_a_new_answer_is(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    first, _ = prefer(store, baseline="none")
    asked = len(chat_server.requests)
    again, work = prefer(store, baseline="none")
    assert (len(chat_server.requests), work.judges) == (asked, ())
    assert again == first
    kept = first.verdicts.read_text(encoding="utf-8").splitlines()
    # A killed process leaves half a line, which is asked again, and no more.
    first.verdicts.write_text("\n".join([*kept[:-1], kept[-1][:40]]), encoding="utf-8")
    assert prefer(store, baseline="none")[0] == first
    assert len(chat_server.requests) == asked + 1


def test_the_judge_is_blind(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    prefer(store, baseline="none")
    for request in chat_server.requests:
        if shown_answers(request) is not None:
            assert "scaffold" not in str(request)
            assert "none" not in str(request)


def test_an_outage_is_no_verdict_and_is_asked_again(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    chat_server.answers(lambda request: Status(400) if "Riddle q1" in str(request) else prefers(request))
    report, work = prefer(store, baseline="none")
    row = only_row(report)
    assert (row.missing, row.unread, row.figures.losses) == (2, 0, 0)
    assert work.judges[0].ungraded[0].code == "bad_request"
    chat_server.answers(prefers)
    report, _ = prefer(store, baseline="none")
    assert (report.missing, only_row(report).figures.losses) == (0, 1)


def test_an_unread_verdict_is_told_and_leaves_the_pair_out(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    asked = len(chat_server.requests)
    chat_server.answers(lambda request: reply("Hm.") if "Riddle q1" in str(request) else prefers(request))
    report, work = prefer(store, baseline="none")
    row = only_row(report)
    assert (row.unread, row.missing, row.figures.pairs) == (2, 0, 6)
    assert "no verdict in the last of the judge's 3 replies" in work.judges[0].unscored[0].reason
    # 3 pairs of q1 in two orders, three times each; the others once.
    assert len(chat_server.requests) - asked == 3 * 2 * 3 + 7 * 2
    prefer(store, baseline="none")
    assert len(chat_server.requests) - asked == 3 * 2 * 3 + 7 * 2


def test_one_order_is_half_the_requests(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    asked = len(chat_server.requests)
    report, _ = prefer(store, baseline="none", orders="one")
    assert len(chat_server.requests) - asked == 10
    assert only_row(report).figures.turned is None


def test_only_what_is_scored_on_both_sides_is_compared(chat_server: ChatServer, tmp_path: Path) -> None:
    """The judge that grades fails on one answer, which then has no score."""
    answers = {**ANSWERS, "scaffold": {**ANSWERS["scaffold"], "q0": ["OMIT", "OK"]}}
    store = answered_store(
        tmp_path,
        chat_server,
        answers,
        server_answers=lambda request: Status(400) if "OMIT" in str(request) else prefers(request),
    )
    report, _ = prefer(store, baseline="none")
    row = only_row(report)
    assert (row.figures.pairs, row.one_sided, row.missing) == (7, 1, 0)


def test_a_repeat_that_is_scored_later_moves_no_other_pair(chat_server: ChatServer, tmp_path: Path) -> None:
    """At first the judge that grades fails on one repeat of each side: what is left is compared with its own number."""
    answers = {
        "none": {"q0": ["BAD", "OK late", "OK", "OK last"]},
        "scaffold": {"q0": ["GOOD late", "BAD", "GOOD", "same"]},
    }
    store = answered_store(
        tmp_path,
        chat_server,
        answers,
        server_answers=lambda request: Status(400) if "late" in str(request) else prefers(request),
    )
    first, _ = prefer(store, baseline="none")
    row, (floor,) = only_row(first), first.noise
    assert (row.figures.pairs, row.one_sided) == (2, 2)
    assert (row.figures.wins, row.figures.losses) == (1, 0)
    assert floor.figures.pairs == 1
    chat_server.answers(prefers)
    run(tmp_path / "plan.toml")
    asked = len(chat_server.requests)
    mended, _ = prefer(store, baseline="none")
    # Two new pairs of the condition and one of the noise floor, in both orders.
    assert len(chat_server.requests) - asked == 2 * 3
    assert (only_row(mended).figures.pairs, only_row(mended).one_sided) == (4, 0)
    assert mended.noise[0].figures.pairs == 2


@pytest.mark.parametrize("end", ["</thinking>", "[/THINK]"])
def test_thoughts_in_a_reply_are_no_part_of_the_answer(chat_server: ChatServer, tmp_path: Path, end: str) -> None:
    store = answered_store(tmp_path, chat_server, {"none": {"q0": ["OK"]}, "scaffold": {"q0": [f"GOOD?{end}OK"]}})
    report, _ = prefer(store, baseline="none")
    shown = [answers for each in chat_server.requests if (answers := shown_answers(each)) is not None]
    assert {answer for answers in shown for answer in answers} == {"ALPHA OK", "OK"}
    assert only_row(report).figures.ties == 1


def test_refusals_come_first(chat_server: ChatServer, tmp_path: Path) -> None:
    store = answered_store(tmp_path, chat_server, ANSWERS)
    asked = len(chat_server.requests)
    with pytest.raises(InputError, match="no scored trial of a condition 'nothing'"):
        prefer(store, baseline="nothing")
    with pytest.raises(InputError, match="the plan has no judge 'k'"):
        prefer(store, baseline="none", judges=["k"])
    with pytest.raises(InputError, match="no ended trial has the condition 'scafold'") as caught:
        prefer(store, baseline="none", conditions=["scafold"])
    assert "did you mean 'scaffold'?" in str(caught.value)
    with pytest.raises(InputError, match="no ended trial has the model 'nosuch'") as caught:
        prefer(store, baseline="none", models=["nosuch"])
    assert "there are m" in str(caught.value)
    with pytest.raises(InputError, match="--max-cost"):
        prefer(store, baseline="none", max_cost=1e-9)
    assert len(chat_server.requests) == asked


def test_the_command_prints_a_table_or_json(chat_server: ChatServer, tmp_path: Path) -> None:
    from click.testing import CliRunner

    store = answered_store(tmp_path, chat_server, ANSWERS)
    shown = CliRunner().invoke(group, ["prefer", str(store), "--baseline", "none"])
    assert shown.exit_code == 0, shown.output
    for told in ("scaffold", "none again", "turned", "at equal length"):
        assert told in shown.stdout
    printed = CliRunner().invoke(group, ["prefer", str(store), "--baseline", "none", "--json"])
    found = json.loads(printed.stdout)
    assert [row["condition"] for row in found["conditions"]] == ["scaffold"]
    assert found["conditions"][0]["wins"] == 3
    assert found["noise"][0]["ties"] == 3


@pytest.mark.deep
def test_recorded_replies_are_given_again(chat_server: ChatServer, tmp_path: Path) -> None:
    record = f"[replies]\nmode = 'record'\nfile = '{tmp_path / 'replies.sqlite'}'"
    store = answered_store(tmp_path, chat_server, ANSWERS, more=record)
    report, _ = prefer(store, baseline="none")
    asked = len(chat_server.requests)
    report.verdicts.unlink()
    plan = tmp_path / "plan.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("'record'", "'replay'"), encoding="utf-8")
    assert prefer(store, baseline="none", plan=plan)[0] == report
    assert len(chat_server.requests) == asked


@pytest.mark.deep
def test_a_killed_run_goes_on_where_it_was(chat_server: ChatServer, tmp_path: Path) -> None:
    """Killed without warning after some verdicts: those are kept, and only the others are asked for."""
    store = answered_store(tmp_path, chat_server, ANSWERS, judge="concurrency = 1")
    graded = len(chat_server.requests)
    code = f"from toolablate.experiments.preferring import prefer; prefer({str(store)!r}, baseline='none')"
    child = subprocess.Popen([sys.executable, "-c", code])
    wait_for(lambda: len(chat_server.requests) >= graded + 5)
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = store.with_name(f"{store.name}.preferences.jsonl").read_bytes().count(b"\n")
    before = len(chat_server.requests)
    report, _ = prefer(store, baseline="none")
    assert report.missing == 0
    assert len(chat_server.requests) - before == 20 - kept
    assert kept >= 4


def calibrating(folder: Path, server: ChatServer, *, good: bool) -> Path:
    """LFQA-E's comparisons, of which the judge is right about all, or about those where the longer answer is."""
    from tests.benchmarks.lfqa_e.comparing import UNIFIED, written

    rows = []
    for n in range(60):
        better, worse = ("GOOD", "BAD and far longer") if n % 2 else ("GOOD and longer", "BAD")
        if not good and n % 2:
            better, worse = worse, better
        rows.append(
            {
                **UNIFIED,
                "id": str(n),
                "question": f"Riddle {n}?",
                "compare_type": "model_vs_model",
                "response_a": better if n % 3 else worse,
                "response_b": worse if n % 3 else better,
                "label": "response_a" if n % 3 else "response_b",
            }
        )
    written(folder / "rows.json", *rows)
    plan = folder / "lfqa.toml"
    plan.write_text(
        f'comparisons = "rows.json"\n[[metrics]]\nkind = "pairs"\njudge = "j"\n[[judges]]\nprovider = "openai"\n'
        f'name = "j"\nendpoint = "{server.url}"\n',
        encoding="utf-8",
    )
    return plan


@pytest.mark.deep
@pytest.mark.parametrize("good", [True, False])
def test_a_calibrated_judge_corrects_and_a_weak_one_is_told(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: bool
) -> None:
    from click.testing import CliRunner

    from toolablate.analysis.preference import JudgeCalibration, judge_calibration
    from toolablate.experiments import preferring
    from toolablate.experiments.lfqa_e import load_lfqa_plan, run_lfqa

    store = answered_store(tmp_path, chat_server, ANSWERS)
    plan = calibrating(tmp_path, chat_server, good=good)
    with pytest.raises(InputError, match="has no verdicts of pairs"):
        prefer(store, baseline="none", calibration=plan)
    run_lfqa(load_lfqa_plan(plan))
    made: list[Any] = []

    def counted(*given: Any, **more: Any) -> JudgeCalibration:
        made.append(given)
        return judge_calibration(*given, **more)

    monkeypatch.setattr(preferring, "judge_calibration", counted)
    report, _ = prefer(store, baseline="none", calibration=plan)
    assert len(made) == 1
    (found,) = report.calibrations.values()
    assert found.accuracy == pytest.approx(100 if good else 50)
    row = only_row(report)
    assert row.corrected_points == (pytest.approx(row.figures.net_points) if good else None)
    assert report.noise
    shown = CliRunner().invoke(group, ["prefer", str(store), "--baseline", "none", "--calibration", str(plan)])
    assert ("corrected net preference" in shown.stdout) == good
    assert ("too weak" in shown.stdout) != good
    with pytest.raises(InputError, match="both orders only"):
        prefer(store, baseline="none", calibration=plan, orders="one")
