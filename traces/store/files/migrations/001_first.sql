-- A record's `body` is its JSON, in which a long string or a repeated object is a reference into `texts` (see _texts.py).
-- `digest` is the first 16 bytes of a SHA-256, `id` the same as hexadecimal digits where users meet it.

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
    digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE trials (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    question INTEGER NOT NULL REFERENCES questions (key),
    model INTEGER NOT NULL REFERENCES models (key),
    condition INTEGER NOT NULL REFERENCES conditions (key),
    repeat INTEGER NOT NULL CHECK (repeat >= 0),
    current INTEGER REFERENCES traces (key), -- the last trace that was answered or ran out of budget, else the last failed
    UNIQUE (question, model, condition, repeat)
) STRICT;

CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    trials INTEGER NOT NULL,
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
    seconds REAL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_usd REAL,
    events INTEGER,
    digest BLOB,
    UNIQUE (trial, attempt)
) STRICT;

CREATE TABLE events (
    trace INTEGER NOT NULL REFERENCES traces (key),
    seq INTEGER NOT NULL CHECK (seq >= 0),
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (trace, seq)
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
