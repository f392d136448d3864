"""Every fuzz target by its name."""

from __future__ import annotations

import fuzz_data
import fuzz_own
import fuzz_runs

TARGETS = {target.name: target for target in (*fuzz_own.TARGETS, *fuzz_data.TARGETS, *fuzz_runs.TARGETS)}
