"""How much of a page's text extraction finds, beside others, and in what time: `python -m bench.extraction`."""
