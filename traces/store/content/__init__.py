"""How what was recorded lies in the rows of a store, for those who write it and those who read it."""
