"""What a run on a partitioned graph is good for: the same answers, a part at a time, in a bounded memory.

What must be known of all nodes or edges at once lies in mapped files beside the output (:mod:`gdamn.system.scratch`).
"""
