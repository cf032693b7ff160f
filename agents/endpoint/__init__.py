"""OpenAI-compatible endpoints: Chat Completions and Responses, by the same transport.

Imports nothing heavy; `agents.connect` imports `source`, and with it the HTTP client, when a model is opened.
"""

from toolablate.agents.endpoint.requirements import read_api_key, require_capabilities, require_images

__all__ = ["read_api_key", "require_capabilities", "require_images"]
