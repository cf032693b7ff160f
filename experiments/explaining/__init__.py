"""What a store knows of why its trials went as they did."""

from toolablate.experiments.explaining.gathered import Gathered
from toolablate.experiments.explaining.reading import explained, outlined

__all__ = ["Gathered", "explained", "outlined"]
