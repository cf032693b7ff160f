"""The analyses of Encyclo-K, as pure functions of scored replies.

Source: Encyclo-K (2026), section 5, tables 3 to 5, appendices D and E.
"""

from toolablate.benchmarks.encyclo_k.analyses.replies import Reply, is_ours
from toolablate.benchmarks.encyclo_k.analyses.tables import tables

__all__ = ["Reply", "is_ours", "tables"]
