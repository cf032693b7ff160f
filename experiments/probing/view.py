"""What a probe has shown, for a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolablate.agents.probing import Probed
from toolablate.experiments.probing.asking import LABELS, STATES, as_toml, differences
from toolablate.traces.plain import plain_text
from toolablate.traces.records import Capabilities, OpenAIModel

_STYLES = {"yes": "green", "no": "red", "unknown": "yellow"}
_EVIDENCE_CHARACTERS = 300


def show(model: OpenAIModel, probed: Probed, problems: Sequence[str], console: Console) -> None:
    """A line of evidence for each thing, then what to paste, then what the plan cannot have."""
    told = (probed.usage.input_tokens, probed.usage.output_tokens)
    spent = "unknown" if None in told else f"{told[0]:,} in and {told[1]:,} out"
    console.print(_inert(f"{probed.model} at {probed.endpoint}: {probed.requests} requests; tokens: {spent}", "bold"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for seen in probed.observations:
        evidence = _inert(seen.evidence, max_chars=_EVIDENCE_CHARACTERS)
        table.add_row(LABELS[seen.subject], Text(STATES[seen.state], style=_STYLES[seen.state]), evidence)
    console.print(table)
    if probed.capabilities != Capabilities():
        console.print(Text("For the model's entry in the plan:"))
        console.print(Text(as_toml(probed.capabilities)), soft_wrap=True)
    for line in differences(model, probed):
        console.print(_inert(f"note: {line}", "yellow"), soft_wrap=True)
    for problem in problems:
        console.print(_inert(f"missing: {problem}", "red"), soft_wrap=True)
    console.print()


def _inert(text: str, style: str = "", *, max_chars: int | None = None) -> Text:
    return Text(plain_text(text, max_chars=max_chars), style=style)
