-- The trial that a condition goes on from, NULL for the conditions of plans: its trials are counterfactuals of that one.

ALTER TABLE conditions ADD COLUMN parent TEXT REFERENCES trials (id);
CREATE INDEX conditions_by_parent ON conditions (parent) WHERE parent NOT NULL;
