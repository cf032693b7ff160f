"""Terms of a trial by the names of what was at work, after the tools that it used and its signals."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, get_args

from toolablate.analysis.attribution.ledger.chain import Chain, Replay, Scores, Signal, ToolKind
from toolablate.analysis.attribution.ledger.terms import Term
from toolablate.analysis.attribution.shapley import design, shapley_values

Mechanism = Literal[
    "retrieval_distraction",
    "knowledge_retrieved",
    "answer_leak",
    "computational_lock_in",
    "computation_misled",
    "computation_done",
    "other_results",
    "use",
    "calling",
    "tool_fault",
    "budget",
    "format_loss",
    "availability",
    "prompt",
    "luck",
    "unresolved",
]

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)

OF_TERMS: Mapping[Term, Mechanism] = {
    "format": "format_loss",
    "budget": "budget",
    "tool_fault": "tool_fault",
    "luck": "luck",
    "use": "use",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
    "unresolved": "unresolved",
}
CONTENT: Mapping[ToolKind, Mechanism] = {
    "search": "retrieval_distraction",
    "code": "computation_misled",
    "other": "other_results",
}
SIGNALLED: Mapping[ToolKind, Mapping[Signal, Mechanism]] = {
    "search": {"answer_leak": "answer_leak", "retrieved": "knowledge_retrieved"},
    "code": {"lock_in": "computational_lock_in", "computed": "computation_done"},
    "other": {},
}
"""What content is called where a trial has a signal; the first that it has."""


def mechanisms(chain: Chain, replay: Replay | None, found: Mapping[Term, float]) -> dict[Mechanism, float]:
    """The terms of a trial under other names, with the same sum.

    The content of a trial's results is shared among kinds of tools by their Shapley value: where both search and code
    were used, the mean over both orders of swapping them. It is `unresolved` here where some choice of swaps was not
    run. What it is called is by signals and not by its sign, because noise alone would make half of it harms and half
    gains; without a signal it has its harm's name, and is above 0 where unnamed gains outweigh harms. To a lock-in
    belongs the use as well where code is all that was used: the use of several kinds is not parted.
    """
    named: dict[Mechanism, float] = defaultdict(float)
    for term, value in found.items():
        if term != "content":
            named[OF_TERMS[term]] += value
    # Without results nothing was swapped, and the content is 0.
    if replay is None or "content" not in found or not chain.tools:
        return dict(named)
    by_kind = _by_kind(chain.tools, replay.rollouts)
    if not by_kind:
        named["unresolved"] += found["content"]
    for kind, value in by_kind.items():
        signalled = (name for signal, name in SIGNALLED[kind].items() if signal in replay.signals)
        named[next(signalled, CONTENT[kind])] += value
    if "lock_in" in replay.signals and chain.tools == {"code"} and "use" in named:
        named["computational_lock_in"] += named.pop("use")
    return dict(named)


def _by_kind(tools: frozenset[ToolKind], rollouts: Mapping[frozenset[ToolKind], Scores]) -> dict[ToolKind, float]:
    """What the results of each kind are worth; nothing where rollouts are lacking."""
    kinds = sorted(tools)
    over = design(len(kinds))
    real = {subset: rollouts.get(tools - {kinds[number] for number in subset}, ()) for subset in over.subsets}
    if not all(real.values()):
        return {}
    return {kind: worth.value for kind, worth in zip(kinds, shapley_values(over, real), strict=True)}
