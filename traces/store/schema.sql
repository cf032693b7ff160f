-- A record's `body` is its JSON, in which a long string or a repeated object is a reference into `texts`
-- (see texts.py). `digest` is the first 16 bytes of a SHA-256, `id` the same as hexadecimal digits where users
-- meet it.

CREATE TABLE texts (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 16),
    encoding INTEGER NOT NULL CHECK (encoding IN (0, 1)), -- 0: UTF-8, 1: zstd of it
    body BLOB NOT NULL
) STRICT;

CREATE TABLE questions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    domain TEXT NOT NULL,
    difficulty TEXT NOT NULL,
    language TEXT NOT NULL,
    cluster TEXT NOT NULL,
    target BLOB NOT NULL, -- digest of its answer key
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE models (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    simulated INTEGER NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE conditions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    parent TEXT REFERENCES trials (id), -- the trial that it goes on from, NULL for the conditions of plans
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX conditions_by_parent ON conditions (parent) WHERE parent NOT NULL;

CREATE TABLE trials (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    question INTEGER NOT NULL REFERENCES questions (key),
    model INTEGER NOT NULL REFERENCES models (key),
    condition INTEGER NOT NULL REFERENCES conditions (key),
    repeat INTEGER NOT NULL CHECK (repeat >= 0),
    current INTEGER REFERENCES traces (key), -- the last trace that was answered or ran out of budget, else the last failed
    outcome TEXT CHECK (outcome IN ('answered', 'budget', 'failed')) -- of `current`: progress is read from one index
) STRICT;
-- By names of their own, so that they can be made after the first trials are in (see writing.py). The trials of version 1
-- are UNIQUE in these columns by the table itself (see file.py).
CREATE UNIQUE INDEX trials_by_id ON trials (id);
CREATE UNIQUE INDEX trials_by_place ON trials (question, model, condition, repeat);
CREATE INDEX trials_by_outcome ON trials (model, condition, outcome);

CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    trials INTEGER NOT NULL,
    listed BLOB NOT NULL, -- digest of the ids of its trials
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE run_trials (
    run INTEGER NOT NULL REFERENCES runs (key),
    trial INTEGER NOT NULL REFERENCES trials (key),
    PRIMARY KEY (run, trial)
) STRICT, WITHOUT ROWID;

-- One row per attempt at a trial. Until it is finished, `outcome` and what follows is NULL.
CREATE TABLE traces (
    key INTEGER PRIMARY KEY,
    trial INTEGER NOT NULL REFERENCES trials (key),
    attempt INTEGER NOT NULL CHECK (attempt >= 1),
    started_at TEXT NOT NULL,
    environment INTEGER NOT NULL REFERENCES texts (key),
    outcome TEXT CHECK (outcome IN ('answered', 'budget', 'failed')),
    ran_out TEXT, -- the limit that ended it, for the outcome `budget`
    seconds REAL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    cache_write_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_usd REAL,
    events INTEGER,
    digest BLOB,
    UNIQUE (trial, attempt)
) STRICT;

-- The events of a trial that runs, and of one that failed.
CREATE TABLE events (
    trace INTEGER NOT NULL REFERENCES traces (key),
    seq INTEGER NOT NULL CHECK (seq >= 0),
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (trace, seq)
) STRICT, WITHOUT ROWID;

-- The events of a finished trace as one block: the JSON array of their bodies, as one zstd frame, packed against another
-- block where there is one that it may resemble (see texts.py).
CREATE TABLE blocks (
    trace INTEGER PRIMARY KEY REFERENCES traces (key),
    base INTEGER REFERENCES blocks (trace), -- what it is packed against
    depth INTEGER NOT NULL CHECK (depth BETWEEN 0 AND 2), -- how many blocks that needs in turn
    size INTEGER NOT NULL, -- bytes of the array
    first INTEGER NOT NULL, -- its parts, which follow each other
    parts INTEGER NOT NULL CHECK (parts > 0)
) STRICT;

-- Short rows fill pages well; a block of three kilobytes would leave a quarter of its page empty.
CREATE TABLE parts (
    key INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- What a finished trace asked of the web or its archive, what was noticed in the results, and which tools it called that
-- it could not call (see digests.py): counted once, so that a comparison need not read the events.
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

-- A score belongs to the trace it was made of, so that a later attempt is not taken for scored.
CREATE TABLE scores (
    trial INTEGER NOT NULL REFERENCES trials (key),
    scorer TEXT NOT NULL,
    version INTEGER NOT NULL,
    trace INTEGER NOT NULL REFERENCES traces (key),
    value REAL,
    verdict TEXT NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (trial, scorer, version)
) STRICT, WITHOUT ROWID;

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

-- The recorders that write now. Each holds a lock on a file beside the store while it lives (see file.py); a row
-- whose lock is free is of one that was killed, and what it claims is free. Nobody writes: both tables are empty.
CREATE TABLE recorders (
    key INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    run INTEGER REFERENCES runs (key), -- the last that it has planned
    ended INTEGER NOT NULL DEFAULT 0, -- attempts that it has ended
    waits_for TEXT NOT NULL DEFAULT '', -- what its run waits for, empty for nothing
    clock REAL NOT NULL DEFAULT 0 -- seconds since the machine started, when it came
) STRICT;

CREATE TABLE claims (
    trial INTEGER PRIMARY KEY REFERENCES trials (key),
    trace INTEGER NOT NULL REFERENCES traces (key), -- the attempt, which has not ended
    recorder INTEGER NOT NULL REFERENCES recorders (key)
) STRICT;
