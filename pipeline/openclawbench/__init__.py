"""OpenClawBench: raw agent sessions in, process-anomaly labels with their evidence out."""

import os

__version__ = "0.1.0"

# Polars' allocator hands memory back half a second after it was last used, and a shard takes two seconds: held for
# five, it need not be asked for again at each shard, which is a twentieth of the time of the stages after normalize and
# costs a tenth more memory. It is read when polars is loaded. What somebody has set stays.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:5000,muzzy_decay_ms:5000")
