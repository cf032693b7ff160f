"""Construction of benchmarks: items that pass stages, from what was found to questions that can be published."""
