"""Graphs that don't fit the full batch: mini-batches with exact inference over blocks of rows (docs/scale.md)."""
