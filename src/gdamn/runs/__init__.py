"""A run: its specification, its folder, the processes that do it; comparisons, searches and replications of runs.

Belongs here: whatever fits many times and keeps what is finished. Must not import: using, report, experiments, cli.
"""
