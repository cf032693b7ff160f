"""What a trial costs in toolablate, beside Inspect AI, the `openai` client alone and a bare LangGraph loop."""
