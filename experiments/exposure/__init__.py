"""The exposure test: models continue the prompts of benchmarks, and what comes back of these is measured."""

from toolablate.experiments.exposure.plan import ExposurePlan, load_exposure_plan
from toolablate.experiments.exposure.running import Ran, Watching, continue_prompts

__all__ = ["ExposurePlan", "Ran", "Watching", "continue_prompts", "load_exposure_plan"]
