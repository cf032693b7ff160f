"""What an effect is made of: the terms of each trial, which sum to it, and the mechanisms behind them."""

from toolablate.analysis.attribution.ledger.accounts import Account, Ledger, ledgers
from toolablate.analysis.attribution.ledger.chain import Arms, Chain, Replay, Scores, Signal, ToolKind
from toolablate.analysis.attribution.ledger.mechanisms import Mechanism, mechanisms
from toolablate.analysis.attribution.ledger.terms import Term, points, terms

__all__ = [
    "Account",
    "Arms",
    "Chain",
    "Ledger",
    "Mechanism",
    "Replay",
    "Scores",
    "Signal",
    "Term",
    "ToolKind",
    "ledgers",
    "mechanisms",
    "points",
    "terms",
]
