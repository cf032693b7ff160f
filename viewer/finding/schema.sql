-- What is searched. All of it can be made again from the store. Two processes may fill it at once.

CREATE TABLE facts (
    name TEXT PRIMARY KEY, -- `stamp` of the store that it was last seen to be complete for
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One per current trace. An index of words alone cannot take texts back: what is not live any more is left in it.
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    trial TEXT NOT NULL,
    trace TEXT NOT NULL, -- digest of its content
    live INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX entries_by_trial ON entries (trial) WHERE live;

-- Tools with the status of their calls; 0 is what is no call.
CREATE TABLE calls (
    key INTEGER PRIMARY KEY,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    UNIQUE (tool, status)
) STRICT;

-- What one trial has of one kind of call, or of none: number * 1024 + the key of the call.
CREATE TABLE documents (
    document INTEGER PRIMARY KEY
) STRICT;

-- The words of these; and above 2^60 those of long texts, each once, since many trials open the same page.
CREATE VIRTUAL TABLE words USING fts5(
    code, output, page, reply, answer, content='', columnsize=0, tokenize='ascii'
);

CREATE TABLE shared (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE places (
    shared INTEGER NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (shared, document)
) STRICT, WITHOUT ROWID;

CREATE TABLE questions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE asked USING fts5(question, content='', columnsize=0, tokenize='ascii');

-- The trials of one selection of runs, scorer and baseline, as columns: zstd of JSON.
CREATE TABLE scopes (
    scope TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    digest BLOB NOT NULL, -- of the body
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
