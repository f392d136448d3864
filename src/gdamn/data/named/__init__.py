"""The named data sets: one file each, and the registry that :func:`gdamn.load` asks."""
