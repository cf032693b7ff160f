import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from toolablate.benchmarks.encyclo_k.scorer import EncycloKScorer
from toolablate.benchmarks.scoring.choice import ChoiceScorer
from toolablate.benchmarks.scoring.code import CodeScorer
from toolablate.benchmarks.scoring.math import MathScorer
from toolablate.benchmarks.scoring.number import NumberScorer
from toolablate.benchmarks.scoring.scorer import AsyncScorer, Scorer
from toolablate.benchmarks.scoring.spans import SpansScorer
from toolablate.benchmarks.scoring.texts import ContainsScorer, ExactScorer, F1Scorer, RegexScorer
from toolablate.benchmarks.tatqa import TatqaScorer
from toolablate.sandbox import Sandbox
from toolablate.traces.errors import ScoringError

SCORERS: Mapping[str, Callable[..., Scorer | AsyncScorer]] = {
    "choice": ChoiceScorer,
    "number": NumberScorer,
    "spans": SpansScorer,
    "tatqa": TatqaScorer,
    "tatqa-f1": partial(TatqaScorer, metric="f1"),
    "encyclo-k": EncycloKScorer,
    "encyclo-k-official": partial(EncycloKScorer, official=True),
    "math": MathScorer,
    "code": CodeScorer,
    "exact": ExactScorer,
    "contains": ContainsScorer,
    "regex": RegexScorer,
    "f1": F1Scorer,
}


def scorer_for(name: str, *, sandbox: Callable[[], Sandbox] | None = None, **options: Any) -> Scorer | AsyncScorer:
    """Builds a scorer by its name, or by the kind of a question's target, which is the name
    of its default scorer, but for `text`, where that is `exact`. A scorer that runs code does so in what `sandbox`
    opens.

    Options of all: `unparsed` ("wrong" or "exclude"). Of `choice`: `partial_credit`. Of `regex`: `pattern`. Raises
    ScoringError for an unknown name or option.
    """
    name = "exact" if name == "text" else name
    if name not in SCORERS:
        raise ScoringError(
            f"there is no scorer {name!r}", hint=f"Allowed are {', '.join(SCORERS)}.", code="unknown_scorer"
        )
    allowed = inspect.signature(SCORERS[name]).parameters
    for option in options:
        if option not in allowed:
            raise ScoringError(
                f"the scorer {name!r} has no option {option!r}",
                hint=f"Allowed are {', '.join(allowed)}.",
                code="unknown_option",
            )
    if options.get("unparsed", "wrong") not in ("wrong", "exclude"):
        raise ScoringError(
            f"'unparsed' cannot be {options['unparsed']!r}", hint="Allowed are wrong, exclude.", code="bad_option"
        )
    if "sandbox" in allowed:
        options["sandbox"] = sandbox
    return SCORERS[name](**options)
