-- The events of a finished trace as one block: the JSON array of their bodies (see _packing.py), as one zstd frame, packed
-- against another block where there is one that it may resemble (see _blocks.py). While a trial runs, and where it failed,
-- its events are rows of `events`.

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
