-- What a viewer's tables are read from. All of it can be made again from the store. Two processes may make it at once.

CREATE TABLE IF NOT EXISTS facts (
    name TEXT PRIMARY KEY, -- `store`, `version`, `baseline`, `findings`
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS models (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    place INTEGER NOT NULL DEFAULT 0, -- in the order in which they are shown
    simulated INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE IF NOT EXISTS conditions (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    place INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE IF NOT EXISTS arms (
    model INTEGER NOT NULL REFERENCES models (key),
    condition INTEGER NOT NULL REFERENCES conditions (key),
    planned INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    running INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    score REAL,
    endings TEXT NOT NULL, -- JSON: how many trials ended in which way
    tokens INTEGER,
    cost_usd REAL,
    PRIMARY KEY (model, condition)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS questions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    called TEXT NOT NULL, -- the name in one case
    domain TEXT NOT NULL,
    difficulty TEXT NOT NULL,
    language TEXT NOT NULL,
    kind TEXT NOT NULL,
    unit TEXT NOT NULL, -- the cluster that the question is of, "" for one that stands alone
    metadata TEXT NOT NULL, -- JSON
    text TEXT NOT NULL, -- the beginning of what is asked
    delta REAL, -- this and what follows is what tables are sorted by
    score REAL,
    spread REAL,
    tokens REAL,
    cost_usd REAL
) STRICT;

-- Apart, since it may be long and only a search for words reads it.
CREATE TABLE IF NOT EXISTS asked (
    question INTEGER PRIMARY KEY REFERENCES questions (key),
    folded TEXT NOT NULL -- prompt and choices, in one case
) STRICT;

CREATE TABLE IF NOT EXISTS answers (
    key INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    folded TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS toolsets (
    key INTEGER PRIMARY KEY,
    names TEXT NOT NULL UNIQUE -- JSON, in the order of the first calls
) STRICT;

CREATE TABLE IF NOT EXISTS trials (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    question INTEGER NOT NULL REFERENCES questions (key),
    model INTEGER NOT NULL REFERENCES models (key),
    condition INTEGER NOT NULL REFERENCES conditions (key),
    repeat INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    value REAL,
    verdict TEXT,
    ending TEXT NOT NULL,
    flip TEXT,
    tokens INTEGER,
    cost_usd REAL,
    seconds REAL NOT NULL,
    trace TEXT NOT NULL, -- digests of what this row was made from
    scores TEXT NOT NULL,
    answer INTEGER NOT NULL REFERENCES answers (key),
    toolset INTEGER REFERENCES toolsets (key), -- NULL until its trace is read
    calls INTEGER NOT NULL DEFAULT 0,
    mechanism TEXT,
    distraction TEXT,
    method TEXT,
    confidence REAL,
    turned_at INTEGER,
    label TEXT
) STRICT;

-- All that a selection asks for, so that no row of `trials` is read to find which questions fit.
CREATE INDEX IF NOT EXISTS trials_selected
    ON trials (question, model, condition, ending, flip, mechanism, label, toolset, answer, value);
CREATE INDEX IF NOT EXISTS trials_unread ON trials (key) WHERE toolset IS NULL;

-- What is said of wrong trials, for the table of failures; worked out after their rows.
CREATE TABLE IF NOT EXISTS failures (
    trial INTEGER PRIMARY KEY REFERENCES trials (key),
    trace TEXT NOT NULL, -- this and the next two are what the row was made from
    scores TEXT NOT NULL,
    turned_at INTEGER,
    relation TEXT NOT NULL,
    answer TEXT NOT NULL, -- cut, as the next two are
    expected TEXT NOT NULL,
    said TEXT NOT NULL,
    cluster TEXT NOT NULL DEFAULT '' -- its name
) STRICT;

-- The last that each person said of a trial, in the order in which it was said.
CREATE TABLE IF NOT EXISTS labels (
    trial TEXT NOT NULL,
    person TEXT NOT NULL,
    book TEXT NOT NULL,
    number INTEGER NOT NULL,
    mechanism TEXT,
    PRIMARY KEY (trial, person, book)
) STRICT, WITHOUT ROWID;
