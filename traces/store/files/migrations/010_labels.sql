-- What people who read a trial hold for its cause, in the order in which they said it: nothing is overwritten, the last
-- of a person counts. A label belongs to the trace that was read, as a score does.
CREATE TABLE labels (
    key INTEGER PRIMARY KEY,
    trial INTEGER NOT NULL REFERENCES trials (key),
    trace INTEGER NOT NULL REFERENCES traces (key),
    person TEXT NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX labels_by_trial ON labels (trial, person);
