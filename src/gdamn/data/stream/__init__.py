"""Tables of any size to a graph folder: read in batches, sorted on disk, never whole in memory.

sources.py      files, folders and globs as one table after another
node_columns.py what a column of the nodes holds, found out and kept in one pass
nodes.py        ids, labels, splits and features of the nodes
ids.py          ids to node numbers, by hashes
edges.py        ends to numbers, then an external sort to CSR
arrays.py       arrays that are written piece by piece
convert.py      all of it, in order
"""
