"""Published tables of scores, recomputed: `python -m examples.published_tables lpfqa_v2`."""
