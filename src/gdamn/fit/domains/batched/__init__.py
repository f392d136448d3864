"""Training in mini-batches, with exact inference over blocks of rows: for graphs that no full batch can hold."""
