"""Stores of replies that are Markdown: one that means well, and one in which every construct tries to be more."""

from collections.abc import Sequence
from pathlib import Path

from tests.browser.hostile import png
from tests.reports.html.hostile_documents import DOCUMENTS, TABLES
from tests.traces.samples import ENVIRONMENT, WHEN, run, score

from toolablate.traces.records import (
    Answer,
    Artifact,
    ChoiceTarget,
    Condition,
    Event,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Question,
    ToolCall,
    ToolRequest,
    ToolUse,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder

MODEL = OpenAIModel(name="gpt-x")
TOOLS = Condition(name="python", tools=(ToolUse(name="python"),))
REPLY = r"""## Solving the system

We want $x$ with $A x = b$, where \(A \in \mathbb{R}^{2 \times 2}\). By **Cramer's rule**:

\[
x_1 = \frac{\det A_1}{\det A}
= \frac{\begin{vmatrix} 5 & 2 \\ 6 & 4 \end{vmatrix}}{\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}}
- 0
\]

1. Compute `det(A)`; it is $-2$.
2. Substitute:
   - $x_1 = -4$
   - $x_2 = 4.5$

| 方法 | Score | Notes |
|:-----|------:|:------|
| 克莱姆法则 | 0.95 | exact, see [the notes](https://example.org/cramer "Cramer") |
| Elimination | 0.9 | *stable* |

```python
import numpy as np
A = np.array([[1, 2], [3, 4]])  # 矩阵
print(np.linalg.solve(A, [5, 6]))
```

> It costs $5 to $6 per run. <b>Not bold</b>, and &nbsp; stays.

![A plot](https://example.org/plot.png)

中文段落：这是**重要**的结论，行列式为 $\det A = -2$。

Answer: A"""
FRAME = "    姓名    城市  score\n0   张三    北京   1.50\n1  欧阳修  乌鲁木齐  22.25\n2  Bob   NYC   3.00"
HTML = (
    '<div><style scoped>.dataframe td { color: red }</style><table border="1" class="dataframe"><thead>'
    '<tr style="text-align: right;"><th></th><th>姓名</th><th>score</th></tr></thead><tbody>'
    "<tr><th>0</th><td>张三</td><td>1.50</td></tr><tr><th>1</th><td>欧阳修</td><td>22.25</td></tr></tbody></table></div>"
)


def _question(prompt: str) -> Question:
    return Question(id="q", prompt=prompt, choices=("$x_1 = -4$", "no"), target=ChoiceTarget(letters=("A",)))


def _replies(text: str, *history: Message, calls: Sequence[ToolRequest] = ()) -> ModelCall:
    message = Message(role="assistant", content=text, tool_calls=tuple(calls))
    reply = ModelReply(
        message=message,
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(input_tokens=10, output_tokens=5),
    )
    return ModelCall(at=0.0, seconds=0.5, request=ModelRequest(messages=history), reply=reply)


async def _stored(path: Path, question: Question, events: Sequence[Event]) -> str:
    trial = Trial(question=question.identity(), model=MODEL.identity(), condition=TOOLS.identity())
    with Recorder(path) as recorder:
        recorder.plan(run(), (question,), [MODEL], [TOOLS], [trial])
        session = await recorder.begin(trial, started_at=WHEN, environment=ENVIRONMENT)
        assert session is not None
        for event in events:
            session.record(event)
        trace = await session.finish("answered", 7.0, Usage(input_tokens=20, output_tokens=10), 0.001)
        await recorder.score([score(trace.trial, 1.0)])
    return trial.id


async def meant(path: Path) -> str:
    """The id of its trial."""
    question = _question("Solve $A x = b$ for\n\n$$A = \\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$$\n\nand **say** why.")
    call = ToolRequest(id="1", name="python", arguments='{"code": "print(frame)"}')
    artifacts = (
        Artifact(mime="text/html", data=HTML),
        Artifact(mime="text/latex", data=r"$\displaystyle \frac{x^2}{2}$"),
        Artifact(mime="image/png", data=png(40, 20)),
    )
    user = Message(role="user", content=question.prompt)
    return await _stored(
        path,
        question,
        (
            _replies("Let me *look*.", user, calls=(call,)),
            ToolCall(at=1.0, call=call, output=FRAME, artifacts=artifacts),
            _replies(REPLY, user),
            Answer(at=6.0, text=REPLY),
        ),
    )


async def hostile_replies(path: Path) -> str:
    """Each document is a reply; tables are what a tool gave. The id of its trial."""
    call = ToolRequest(id="1", name="python", arguments="{}")
    events: list[Event] = [_replies(text) for documents in DOCUMENTS.values() for text in documents]
    events += [
        ToolCall(at=1.0, call=call, output=table[:500], artifacts=(Artifact(mime="text/html", data=table),))
        for table in TABLES
    ]
    events += [
        ToolCall(at=1.0, call=call, output="", artifacts=(Artifact(mime="text/latex", data=formula),))
        for formula in DOCUMENTS["formulas"]
    ]
    events.append(Answer(at=6.0, text="Answer: A"))
    return await _stored(path, _question("\n\n".join(each[0] for each in DOCUMENTS.values())), events)
