-- What a trial wrote to an endpoint's cache of prompts, in tokens, NULL where that was not reported.

ALTER TABLE traces ADD COLUMN cache_write_tokens INTEGER;
