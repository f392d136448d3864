"""The paper's tables, figures and statements, run again: a file each (``targets.py`` lists them), and its numbers."""
