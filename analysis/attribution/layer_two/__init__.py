"""The rules by replay: which mechanism made a trial wrong, and how surely."""

from toolablate.analysis.attribution.layer_two.blame import blame
from toolablate.analysis.attribution.layer_two.labelling import layer_two

__all__ = ["blame", "layer_two"]
