"""The frozen web measured: pages opened and searches asked from a sealed archive."""
