"""Pure functions of records: comparison and statistics."""
