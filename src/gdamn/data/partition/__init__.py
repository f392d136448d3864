"""A graph cut into parts on disk: who chooses them (choose.py), their rows (rows.py), and the folder (write.py).

What reads the folder again is :mod:`gdamn.graph.parts`.
"""
