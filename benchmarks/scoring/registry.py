import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from toolablate.benchmarks.scoring.choice import ChoiceScorer
from toolablate.benchmarks.scoring.encyclo_k import EncycloKScorer
from toolablate.benchmarks.scoring.number import NumberScorer
from toolablate.benchmarks.scoring.scorer import Scorer
from toolablate.benchmarks.scoring.spans import SpansScorer
from toolablate.benchmarks.scoring.tatqa import TatqaScorer
from toolablate.traces.errors import ScoringError

SCORERS: Mapping[str, Callable[..., Scorer]] = {
    "choice": ChoiceScorer,
    "number": NumberScorer,
    "spans": SpansScorer,
    "tatqa": TatqaScorer,
    "tatqa-f1": partial(TatqaScorer, metric="f1"),
    "encyclo-k": EncycloKScorer,
}


def scorer_for(name: str, **options: Any) -> Scorer:
    """Builds a scorer by its name, or by the kind of a question's target, which is the name of its default scorer.

    Options of all: `unparsed` ("wrong" or "exclude"). Of `choice`: `partial_credit`. Raises ScoringError for an unknown
    name or option.
    """
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
    return SCORERS[name](**options)
