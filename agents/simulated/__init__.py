"""Stochastic stand-ins for models, for demonstrations and for tests of the testbed itself. Never a real model."""

from toolablate.agents.simulated.model import SimulatedChat, SimulatedSource
from toolablate.agents.simulated.playbook import Play, Playbook, Program
from toolablate.agents.simulated.simulated_belief import Belief, Candidate

__all__ = ["Belief", "Candidate", "Play", "Playbook", "Program", "SimulatedChat", "SimulatedSource"]
