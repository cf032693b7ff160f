"""The SQLite store: one recorder writes, everything else reads."""
