"""Reads the final answer out of a reply. Pure functions, linear in the length of the reply, blind to the target.

Of spans it is known whether one or several are wanted, and nothing else.
"""

from toolablate.benchmarks.extraction.choices import read_letters
from toolablate.benchmarks.extraction.markers import final_part
from toolablate.benchmarks.extraction.numbers import read_number
from toolablate.benchmarks.extraction.reading import Reading, normalised
from toolablate.benchmarks.extraction.spans import Wanted, read_scaled_spans, read_spans
from toolablate.benchmarks.extraction.texts import read_text

__all__ = [
    "Reading",
    "Wanted",
    "final_part",
    "normalised",
    "read_letters",
    "read_number",
    "read_scaled_spans",
    "read_spans",
    "read_text",
]
