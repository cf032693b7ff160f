"""What a paired difference is worth: intervals, tests, chance and power, as functions of plain numbers."""
