"""The planted benchmark: questions to simulated models, of which it is known by construction why they go wrong.

Everything is made up. A question asks which of several options is best for every large n, and says what each comes to;
so code that looks at finitely many n really finds another one, and pages may speak for any. A scene says what a
simulated model believes, what it calls and what of it moves the model. Every template can have every cause.
"""

from toolablate.benchmarks.planted.composing import NATURES, STORIES, Nature, Planted, compose
from toolablate.benchmarks.planted.pages import Document
from toolablate.benchmarks.planted.stories import TURNS, Story
from toolablate.benchmarks.planted.templates import HALVES, Half, Template, templates

__all__ = [
    "HALVES",
    "NATURES",
    "STORIES",
    "TURNS",
    "Document",
    "Half",
    "Nature",
    "Planted",
    "Story",
    "Template",
    "compose",
    "templates",
]
