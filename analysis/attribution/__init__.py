"""Why a tool made a model worse: signals of traces, early answers, rules, and the decomposition of effects."""
