"""The tables of the paper: its numbers (``paper.toml``), and the commands that put ours beside them."""
