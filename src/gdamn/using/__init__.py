"""What a finished run is good for: labels, a cleaned graph, reasons, and edges that a person should check.

Belongs here: what reads a run folder and answers a question; a module each.
"""
