-- The recorders that write now. Each holds a lock on a file beside the store while it lives (see _locks.py); a row whose
-- lock is free is of one that was killed, and what it claims is free. Nobody writes: both tables are empty.

CREATE TABLE recorders (
    key INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    since TEXT NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0 -- attempts that it has ended
) STRICT;

CREATE TABLE claims (
    trial INTEGER PRIMARY KEY REFERENCES trials (key),
    trace INTEGER NOT NULL REFERENCES traces (key), -- the attempt, which has not ended
    recorder INTEGER NOT NULL REFERENCES recorders (key)
) STRICT;

-- The outcome of the current trace, so that how far the trials are is read from one index.
ALTER TABLE trials ADD COLUMN outcome TEXT CHECK (outcome IN ('answered', 'budget', 'failed'));
UPDATE trials SET outcome = (SELECT traces.outcome FROM traces WHERE traces.key = trials.current);
CREATE INDEX trials_by_outcome ON trials (model, condition, outcome);
