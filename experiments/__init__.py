"""Making it happen: plans, conditions, the runner and the command line."""
