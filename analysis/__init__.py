"""Pure functions of records: statistics, comparison, ladders, agreement, attribution."""
