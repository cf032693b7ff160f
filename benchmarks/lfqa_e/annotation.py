"""A page on which a person compares pairs, blind: the second annotator of LFQA-E, or the first of other pairs."""

import json
import random
from collections.abc import Sequence
from importlib.resources import files

from toolablate.benchmarks.lfqa_e.comparisons import Comparison
from toolablate.traces.records import digest_json


def annotation_page(comparisons: Sequence[Comparison], *, seed: int = 0) -> str:
    """One HTML file that needs no server. Pairs come in random order, sides are exchanged at random, and nothing shows
    which is which; what it saves are rows for `metric_of_file`. Verdicts are kept in the browser by the pairs' digest.
    """
    drawn = random.Random(seed)  # noqa: S311 - a draw, not a secret
    pairs = [_pair(each, exchanged=drawn.random() < 0.5) for each in comparisons]
    drawn.shuffle(pairs)
    # No text can end the script that holds it.
    data = json.dumps({"name": digest_json(pairs)[:16], "pairs": pairs}, ensure_ascii=False).replace("<", "\\u003c")
    page = files("toolablate.benchmarks.lfqa_e").joinpath("annotation.html").read_text(encoding="utf-8")
    return page.replace(">DATA<", f">{data}<")


def _pair(each: Comparison, *, exchanged: bool) -> dict[str, str | bool]:
    first, second = (each.b, each.a) if exchanged else (each.a, each.b)
    return {
        "id": each.id,
        "question": each.asked,
        "context": each.context,
        "reference": each.reference,
        "first": first,
        "second": second,
        "exchanged": exchanged,
    }
