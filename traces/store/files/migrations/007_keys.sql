-- What scores were made by, what a run called for, and who is at it.

ALTER TABLE questions ADD COLUMN target BLOB; -- digest of its target, NULL until a run names a question of an older store
ALTER TABLE runs ADD COLUMN listed BLOB; -- digest of the ids of its trials, NULL for a run of an older toolablate

ALTER TABLE recorders ADD COLUMN run INTEGER REFERENCES runs (key); -- the last that it has planned
ALTER TABLE recorders DROP COLUMN since; -- by a clock that may be set back
ALTER TABLE recorders ADD COLUMN clock REAL NOT NULL DEFAULT 0; -- seconds since the machine started, when it came
