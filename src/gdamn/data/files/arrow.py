"""pyarrow for all that reads tables and files of graphs, or the sentence that tells how to get it."""

from ...system.extras import need

need("Reading tables and files of graphs", "pyarrow")

import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402

__all__ = ["pa", "pc"]
