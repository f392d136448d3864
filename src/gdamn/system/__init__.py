"""The machine: files that appear whole or not at all, memory, and names that have moved. Knows nothing of graphs."""
