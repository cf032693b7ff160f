"""Models and the loop that lets them use tools until they answer."""

from toolablate.agents.chat import ChatModel, ModelSource, PricedReply, RetryPolicy, ask, connect
from toolablate.agents.endpoint import read_api_key, require_capabilities, require_images
from toolablate.agents.pacing import EndpointLine, Line, PacedSource, lines_of
from toolablate.agents.resuming import Start, start_before
from toolablate.agents.run import AgentResult, resume_agent, run_agent
from toolablate.agents.session import Tools

__all__ = [
    "AgentResult",
    "ChatModel",
    "EndpointLine",
    "Line",
    "ModelSource",
    "PacedSource",
    "PricedReply",
    "RetryPolicy",
    "Start",
    "Tools",
    "ask",
    "connect",
    "lines_of",
    "read_api_key",
    "require_capabilities",
    "require_images",
    "resume_agent",
    "run_agent",
    "start_before",
]
