-- What a finished trace asked of the web or its archive, and what was noticed in the results: counted once, so that a
-- comparison need not read the events.

CREATE TABLE lookups (
    trace INTEGER NOT NULL REFERENCES traces (key),
    miss TEXT NOT NULL, -- why it was not there, or empty
    count INTEGER NOT NULL CHECK (count > 0),
    PRIMARY KEY (trace, miss)
) STRICT, WITHOUT ROWID;

CREATE TABLE markers (
    trace INTEGER NOT NULL REFERENCES traces (key),
    kind TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0), -- of the results that bear it
    PRIMARY KEY (trace, kind)
) STRICT, WITHOUT ROWID;
