"""PYTHON inspect_check.py FOLDER: how many samples of the one log in FOLDER were answered, and how many are right.

As JSON. Reads every sample, so that a log that cannot be read does not count. Run by Inspect's own Python.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from inspect_ai.log import read_eval_log

(path,) = Path(sys.argv[1]).glob("*.eval")
log = read_eval_log(str(path))
samples = log.samples or []
answered = [each for each in samples if each.error is None and each.output.completion]
right = [each for each in answered if all(score.value == "C" for score in (each.scores or {"": None}).values())]
calls = sum(event.event == "model" for each in samples for event in each.events)
found = {"answered": len(answered), "right": len(right), "model_calls": calls, "version": version("inspect_ai")}
print(json.dumps({**found, "status": log.status}))
