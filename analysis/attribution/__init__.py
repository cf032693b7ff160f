"""Why a tool made a model worse: signals of traces, beliefs, and the ledger of mechanisms."""
