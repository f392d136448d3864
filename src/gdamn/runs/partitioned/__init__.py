"""A run on a partitioned graph: every rank fits, measures and writes what belongs to its parts."""
