-- The limit that a trial of the outcome `budget` ran into, NULL where another outcome or an older toolablate ended it.
ALTER TABLE traces ADD COLUMN ran_out TEXT;

-- What a recorder's run waits for, empty for nothing.
ALTER TABLE recorders ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';
