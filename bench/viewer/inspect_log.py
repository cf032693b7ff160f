"""Writes an Inspect log of many samples with Inspect's own recorder. Run by a Python that has inspect_ai:

    PYTHON inspect_log.py SAMPLES FOLDER

A sample is a question and an answer without events, since a table of samples shows no more.
"""

import asyncio
import sys
from pathlib import Path

from inspect_ai.log import EvalConfig, EvalDataset, EvalPlan, EvalSample, EvalSpec, EvalStats
from inspect_ai.log._recorders.eval import EvalRecorder
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

FLUSH = 1_000
EPOCHS = 20
BEGAN = "2026-01-02T03:04:05+00:00"


async def write(samples: int, folder: Path) -> None:
    recorder, log = EvalRecorder(str(folder)), str(folder / "bench.eval")
    spec = EvalSpec(
        created=BEGAN, task="bench", model="bench/model", dataset=EvalDataset(samples=samples), config=EvalConfig()
    )
    await recorder.log_init(spec, log)
    await recorder.log_start(spec, EvalPlan())
    for number in range(samples):
        await recorder.log_sample(spec, sample(number))
        if number % FLUSH == 0:
            await recorder.flush(spec)
    await recorder.log_finish(spec, "success", EvalStats(started_at=BEGAN, completed_at=BEGAN), None, None)


def sample(number: int) -> EvalSample:
    prompt = f"Question {number // EPOCHS}: " + "what follows from the rate of change of energy per mole when " * 5
    said = ChatMessageAssistant(content="It falls.\n\nAnswer: A", model="bench/model", source="generate")
    return EvalSample(
        id=f"q{number // EPOCHS}",
        epoch=number % EPOCHS + 1,
        input=prompt,
        choices=["A", "B"],
        target=["A"],
        messages=[ChatMessageUser(content=prompt, source="input"), said],
        output=ModelOutput.from_content("bench/model", "It falls.\n\nAnswer: A"),
        scores={"choice": Score(value="C" if number % 3 else "I", answer="A")},
        model_usage={"bench/model": ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)},
        total_time=35.0,
        working_time=35.0,
        metadata={"condition": f"condition {number % 5}"},
    )


if __name__ == "__main__":
    asyncio.run(write(int(sys.argv[1]), Path(sys.argv[2])))
