"""Models as judges: of answers (is it right?) and of failures (why is it wrong?). They are given a way to ask."""
