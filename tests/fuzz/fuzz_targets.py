"""Every fuzz target by its name."""

from __future__ import annotations

import fuzz_data
import fuzz_own
import fuzz_runs
import fuzz_stream

_ALL = (*fuzz_own.TARGETS, *fuzz_stream.TARGETS, *fuzz_data.TARGETS, *fuzz_runs.TARGETS)
TARGETS = {target.name: target for target in _ALL}
