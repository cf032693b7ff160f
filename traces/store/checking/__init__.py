"""The checks of `verify`, in their order; each knows the rows of some tables."""

from toolablate.traces.store.checking.named import conditions, designs, models, questions
from toolablate.traces.store.checking.records import Check
from toolablate.traces.store.checking.runs import runs
from toolablate.traces.store.checking.said import diagnoses, labels, scores
from toolablate.traces.store.checking.structure import claims, orphans, structure, texts
from toolablate.traces.store.checking.trials import traces, trials

CHECKS: tuple[tuple[str, Check], ...] = (
    ("structure", structure),
    ("texts", texts),
    ("questions", questions),
    ("models", models),
    ("conditions", conditions),
    ("trials", trials),
    ("traces", traces),
    ("claims", claims),
    ("orphans", orphans),
    ("scores", scores),
    ("runs", runs),
    ("designs", designs),
    ("diagnoses", diagnoses),
    ("labels", labels),
)
