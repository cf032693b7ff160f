"""What an endpoint can do, found out by asking it a handful of small requests."""

from toolablate.agents.probing.asking import MOST_REQUESTS, MOST_TOKENS_IN, MOST_TOKENS_OUT
from toolablate.agents.probing.findings import Observation, Probed, State
from toolablate.agents.probing.probe import probe

__all__ = ["MOST_REQUESTS", "MOST_TOKENS_IN", "MOST_TOKENS_OUT", "Observation", "Probed", "State", "probe"]
