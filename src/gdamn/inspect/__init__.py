"""Facts and warnings about a graph before anything is trained on it."""
