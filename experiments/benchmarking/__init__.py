"""What the command line does with published benchmarks: bring in, make tables, score."""
