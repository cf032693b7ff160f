"""Placebos of the python tool: the cell really runs, and what another one printed is shown."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Counted, Standing

from toolablate.benchmarks.builtin import builtin_questions
from toolablate.sandbox import Sandbox
from toolablate.tools import NoGuard, Resources, ToolResult
from toolablate.tools.interventions.substitutes.fitting import SubstituteRequest, code_substitute, fitting, kind_of
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources, python_bank
from toolablate.tools.placebo_sources.bank import run_again
from toolablate.tools.placebo_sources.sources import TrialPlaceboSources
from toolablate.tools.tool import PrintedOutput
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, SpansTarget

in_one_loop = pytest.mark.asyncio(loop_scope="module")

NUMBER = Question(id="n", prompt="What is 6 times 7?", target=NumberTarget(value=42))


def sources_for(question: Question, *kept: PlaceboSource) -> TrialPlaceboSources:
    return TrialPlaceboSources(PlaceboSources((question,), {"python": kept}), question, NoGuard())


def swapped(question: Question, output: str, error: str = "", seed: str = "s", *kept: PlaceboSource) -> tuple[str, str]:
    result = ToolResult(output, "error" if error else "ok", error)
    substitute = code_substitute(
        result, PrintedOutput(output), "python", seed, sources_for(question, *kept), Withheld(question)
    )
    assert substitute is not None
    return substitute.output, substitute.source


@pytest.mark.deep
@in_one_loop
async def test_the_cell_runs_and_something_of_its_kind_is_shown(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    kernels = Counted(sandbox)
    async with standing("placebo", "python", Resources(kernels), NUMBER) as tools:
        number = await call(tools, "python", code="x = 6 * 7\nprint(x)")
        failed = await call(tools, "python", code="print(x / 0)")
        empty = await call(tools, "python", code="y = x + 1")
        table = await call(
            tools,
            "python",
            code="print('   n         y      n^3')\nfor n in range(9): print(f'{n:>4}  {y * n:>8}  {n ** 3:>8}')",
        )
        late = await call(tools, "python", code="print(x, flush=True)\nwhile True: pass")
        died = await call(tools, "python", code="import os; os._exit(1)")
    assert kernels.started == 1
    assert kind_of(number.output, "") == "integer"
    assert number.output != "42"
    assert number.original is not None
    assert (number.original.output, number.status) == ("42", "ok")
    (change,) = number.changes
    assert change.intervention == "placebo"
    assert change.detail.startswith("bank ")
    assert failed.output != failed.original.output if failed.original else False
    assert (failed.status, failed.error) == ("error", "ZeroDivisionError")
    assert "ZeroDivisionError" in failed.output
    assert (empty.output, empty.changes) == ("(no output)", ())
    assert table.original is not None
    assert kind_of(table.output, "") == "table"
    assert late.output.endswith("[interrupted after 4 s; the kernel and its variables live on]")
    assert not late.output.startswith("42")
    assert died.output.startswith("[the kernel died")


def test_each_kind_is_met_by_its_own() -> None:
    for output, error in (
        ("17", ""),
        ("-0.25", ""),
        ("[1, 2, 3]", ""),
        ("<Figure size 640x480 with 1 Axes>", ""),
        ("a  b\n1  2\n3  4\n5  6", ""),
        ("mean: some words", ""),
        ("Traceback ...", "NameError"),
        ("Traceback ...", "ValueError"),
    ):
        shown, source = swapped(NUMBER, output, error)
        example = python_bank()[int(source.split(",")[0].split()[1]) - 1]
        assert kind_of(example.output, example.error) == kind_of(output, error)
        assert shown != output
    # An exception that nothing in the bank raises is met by another.
    assert "Error" in swapped(NUMBER, "Traceback ...", "SomeStrangeError")[0]


@pytest.mark.deep
def test_lengths_are_matched_from_one_character_to_thousands() -> None:
    rng = random.Random(4)
    ratios = []
    for number in range(400):
        size = round(10 ** rng.uniform(0, 4))
        output = rng.choice(
            (
                "7" * min(size, 300),
                " ".join(str(rng.randint(0, 99)) for _ in range(max(size // 3, 1))),
                "\n".join(f"row {n}  {rng.random():.6f}  {rng.random():.4f}" for n in range(max(size // 25, 3))),
                "the value of the sum is near\n" * max(size // 29, 1),
            )
        )
        shown, _ = swapped(NUMBER, output, seed=str(number))
        ratios.append(len(shown) / len(output))
    within = sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios)
    assert within >= 0.97
    assert 0.8 < sorted(ratios)[len(ratios) // 2] < 1.25


@pytest.mark.deep
def test_the_choice_is_random_by_call_and_stays_when_placebo_sources_are_added() -> None:
    first = [swapped(NUMBER, "1234", seed=str(n))[1] for n in range(60)]
    assert first == [swapped(NUMBER, "1234", seed=str(n))[1] for n in range(60)]
    assert len(set(first)) > 8
    kept = [PlaceboSource(f"q{n}", str(1000 + n), prompt=f"p{n}") for n in range(20)]
    of_store = [swapped(NUMBER, "1234", "", str(n), *kept)[1] for n in range(200)]
    assert set(of_store) <= {candidate.source for candidate in kept}
    one_more = [
        swapped(NUMBER, "1234", "", str(n), *kept, PlaceboSource("new", "5555", prompt="new"))[1] for n in range(200)
    ]
    changed = [new for old, new in zip(of_store, one_more, strict=True) if old != new]
    assert set(changed) == {"new"}
    assert len(changed) < 30


def test_nothing_comes_of_the_same_question_prompt_or_cluster() -> None:
    question = NUMBER.model_copy(update={"cluster": "tables"})
    kept = (
        PlaceboSource("n", "1111", prompt="other"),
        PlaceboSource("m", "1112", prompt="what is  6 times 7?"),
        PlaceboSource("o", "1113", prompt="p", cluster="tables"),
        PlaceboSource("fine", "1114", prompt="q", cluster="other"),
    )
    assert {swapped(question, "1234", "", str(n), *kept)[1] for n in range(20)} == {"fine"}


def test_where_every_placebo_source_says_it_lines_are_cut() -> None:
    question = replace_choices("alpha", "beta")
    output = "\n".join(["some words here", "and ALPHA there", "more of the words", "Be-ta"])
    cut = fitting([PlaceboSource("x", output)], SubstituteRequest("y" * len(output), "s"), Withheld(question))
    assert cut is not None
    assert cut.output == "some words here\nmore of the words"
    assert fitting([PlaceboSource("x", "alpha\nbeta")], SubstituteRequest("y" * 10, "s"), Withheld(question)) is None


def replace_choices(*choices: str) -> Question:
    return Question(id="c", prompt="Which?", choices=choices, target=ChoiceTarget(letters=("A",)))


TARGETS = st.one_of(
    st.floats(min_value=-1e6, max_value=1e6).map(lambda x: NumberTarget(value=x, relative=0.02)),
    st.integers(0, 300).map(lambda x: NumberTarget(value=float(x))),
    st.lists(st.sampled_from(["ok", "Monday", "x**2", "28", "row", "error", "0.5", "True", "the"]), min_size=1, max_size=4)
    .map(lambda spans: SpansTarget(spans=tuple(spans))),
)  # fmt: skip
EXAMPLES = [example for example in python_bank() if example.output]


@given(TARGETS, st.sampled_from(EXAMPLES), st.integers(0, 1000))
def test_no_placebo_ever_says_the_answer_or_a_choice(target: object, real: object, seed: int) -> None:
    question = Question(id="q", prompt="?", target=target)  # type: ignore[arg-type]
    shown, _ = swapped(question, real.output, real.error, str(seed))  # type: ignore[attr-defined]
    assert not Withheld(question).holds(shown)
    assert shown.strip()


@pytest.mark.deep
@given(st.lists(st.sampled_from([example.output[:12].strip() or "x" for example in EXAMPLES]), min_size=2, max_size=6))
def test_no_placebo_ever_says_a_choice(choices: list[str]) -> None:
    question = replace_choices(*choices)
    for output in ("12", "0.5", "a line of text", "1 2 3\n4 5 6"):
        shown, _ = swapped(question, output)
        assert not Withheld(question).holds(shown)


@in_one_loop
async def test_the_bank_holds_what_its_programs_really_give(sandbox: Sandbox) -> None:
    bank = python_bank()
    assert len(bank) >= 150
    assert len({example.code for example in bank}) == len(bank)
    kinds = {kind_of(example.output, example.error) for example in bank}
    assert kinds >= {"integer", "decimal", "numbers", "table", "text", "word", "figure", "error NameError"}
    assert (min(len(example.output) for example in bank), max(len(example.output) for example in bank) > 3000) == (
        1,
        True,
    )
    for example in random.Random(1).sample([each for each in bank if "pandas" not in each.code], 12):
        again = await run_again(example, sandbox)
        assert (again.output, again.error) == (example.output, example.error)


def test_the_built_in_questions_all_have_placebos_of_code() -> None:
    for question in builtin_questions():
        for output in ("1.5", "12", "some words\nand more", "[1, 2]"):
            shown, _ = swapped(question, output)
            assert not Withheld(question).holds(shown)
