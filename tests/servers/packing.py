import gzip
from functools import partial

packed = partial(gzip.compress, mtime=0)
"""Without the time, so that bodies which name a test are the same in every process."""
