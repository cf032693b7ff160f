"""Runs Inspect itself, offline, and leaves its logs in the folder that is named: real files of the real tool.

plain.eval, tools.eval     four sums, without a tool and with one, twice each; `match` and `includes`
choices.eval               a multiple choice
graded.eval                a model grades; its calls are no part of the sample
limited.eval               a limit of messages is reached
broken.eval                a tool breaks down
rated.eval                 one scorer gives grades from 1 to 10, another a dictionary
invented.eval              without a tool the model calls one that there is not, and then another
explained.eval             two answers are right; a tool draws, another refuses; the scorer explains its score
"""

import base64
import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, includes, match, model_graded_fact, scorer
from inspect_ai.solver import generate, multiple_choice, system_message, use_tools
from inspect_ai.tool import ContentImage, ContentText, ToolError, tool

NAME = "mockllm/model"
SUMS = [
    Sample(id=f"sum-{n}", input=f"What is {n} + 1?", target=str(n + 1), metadata={"domain": "sums"}) for n in range(4)
]


@tool
def add():
    async def execute(x: int, y: int) -> str:
        """Adds two numbers.

        Args:
            x: the one
            y: the other
        """
        return str(x + y)

    return execute


@tool
def broken():
    async def execute(x: int) -> str:
        """Breaks down.

        Args:
            x: anything
        """
        raise RuntimeError(f"no \x1b[31mluck with {x}")

    return execute


@tool
def draw():
    async def execute(x: int) -> list:
        """Draws.

        Args:
            x: anything
        """
        image = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300)).decode()
        return [ContentText(text="a plot"), ContentImage(image=image)]

    return execute


@tool
def refuse():
    async def execute(x: int) -> str:
        """Refuses.

        Args:
            x: anything
        """
        raise ToolError("x is too small")

    return execute


@scorer(metrics=[accuracy()])
def explained():
    async def score(state, target):
        metadata = {"grading": "four and two", "tries": 2, "api_key": "sk-secret"}
        return Score(value="C", answer="42", explanation="Forty-two is\n  42.", metadata=metadata)

    return score


@scorer(metrics=[accuracy()])
def rating():
    async def score(state, target):
        return Score(value=7.5)

    return score


@scorer(metrics={"tone": [accuracy()], "fact": [accuracy()]})
def parts():
    async def score(state, target):
        return Score(value={"tone": 0.5, "fact": float("nan")})

    return score


def said(text):
    """Without usage Inspect would count tokens, and fetch what it counts them by."""
    return used(ModelOutput.from_content(NAME, text))


def calls(name, **arguments):
    return used(ModelOutput.for_tool_call(NAME, name, arguments))


def used(output):
    output.usage = ModelUsage(
        input_tokens=10, output_tokens=3, total_tokens=18, input_tokens_cache_read=4, input_tokens_cache_write=1
    )
    return output


def run(folder, name, task, outputs, **options):
    model = get_model(NAME, custom_outputs=outputs, config=GenerateConfig(temperature=0.5), memoize=False)
    (log,) = evaluate(
        task, model=model, log_dir=str(folder / name), display="none", max_samples=1, max_connections=1, **options
    )
    Path(log.location.removeprefix("file://")).rename(folder / f"{name}.eval")


def main(folder):
    answers = ["1", "2", "3", "I do not know"] * 2
    run(folder, "plain", Task(SUMS, solver=generate(), scorer=[match(), includes()]), map(said, answers), epochs=2)
    with_tools = []
    for n in [0, 1, 2, 3] * 2:
        with_tools += [calls("add", x=n, y=1), said(str(n + 1) if n else "nine")]
    solver = [system_message("Use tools."), use_tools(add()), generate()]
    run(folder, "tools", Task(SUMS, solver=solver, scorer=[match(), includes()]), with_tools, epochs=2)
    letters = [Sample(id=7, input="Which is even?", choices=["1", "2", "3"], target="B", metadata={"level": 2})]
    run(folder, "choices", Task(letters, solver=multiple_choice(), scorer=choice()), [said("ANSWER: B")])
    grader = get_model(NAME, custom_outputs=[said("GRADE: C")] * 2, memoize=False)
    graded = Task(SUMS[:2], solver=generate(), scorer=model_graded_fact(model=grader))
    run(folder, "graded", graded, [said("one"), said("two")])
    limited = Task(SUMS[:1], solver=[use_tools(add()), generate()], scorer=match(), message_limit=3)
    run(folder, "limited", limited, [calls("add", x=0, y=1)] * 3)
    inventing = [calls("python", code="1"), calls("python"), said("1"), calls("web_search"), said("2")]
    run(folder, "invented", Task(SUMS[:3], solver=generate(), scorer=match()), [*inventing, said("3")])
    breaking = Task(SUMS[:2], solver=[use_tools(broken()), generate()], scorer=match(), fail_on_error=False)
    run(folder, "broken", breaking, [calls("broken", x=1), said("2")])
    both = [Sample(id="two", input="What is 6 x 7?", target=["42", "forty-two"])]
    drawn = [calls("draw", x=1), calls("refuse", x=1), calls("draw", x=2)]
    solver = [use_tools(draw(), refuse()), generate()]
    run(folder, "explained", Task(both, solver=solver, scorer=explained()), drawn, message_limit=7)
    run(folder, "rated", Task(SUMS[:1], solver=generate(), scorer=[rating(), parts()]), [said("1")])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
