"""Attribution by replay: which trials are replayed, what each needs, what that costs, and running it."""

from toolablate.experiments.attributing.running import Attributed, attribute

__all__ = ["Attributed", "attribute"]
