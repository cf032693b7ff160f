"""Why one trial went as it did, in words: what pages "Why", reports and the terminal say of it."""
