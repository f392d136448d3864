"""The machine: files that appear whole or not at all, folders and their locks, memory, versions, names that moved.

Belongs here: what knows nothing of graphs. Its modules are imported as such: ``from ..system import io``.
"""
