"""Agents of the user's own: LangGraph graphs and functions whose models and tools are theirs. `trial` runs one; it is
imported where a plan has such a model."""
