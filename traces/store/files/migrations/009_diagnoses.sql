-- Which trials were to be replayed, and with how many runs each.
CREATE TABLE designs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- What judges hold for the cause of failures. A diagnosis belongs to the trace that was read, as a score does.
CREATE TABLE diagnoses (
    trial INTEGER NOT NULL REFERENCES trials (key),
    judge TEXT NOT NULL,
    wording INTEGER NOT NULL,
    trace INTEGER NOT NULL REFERENCES traces (key),
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (trial, judge, wording)
) STRICT, WITHOUT ROWID;
