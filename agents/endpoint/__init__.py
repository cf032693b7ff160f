"""OpenAI-compatible endpoints: Chat Completions and Responses, by the same transport.

Imports nothing heavy; `agents.connect` imports `source`, and with it the HTTP client, when a model is opened.
"""

from toolablate.agents.endpoint.api_key import read_api_key
from toolablate.agents.endpoint.capabilities import require_capabilities

__all__ = ["read_api_key", "require_capabilities"]
