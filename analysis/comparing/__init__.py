"""What the scores of a store say, in pairs."""
