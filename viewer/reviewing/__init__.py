"""The pages on which people review what a construction made."""
