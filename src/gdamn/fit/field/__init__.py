"""How much each edge is to be trusted: a Markov random field of the labels whose edges have a reliability each.

``evidence.py`` has what speaks for an edge beside labels, ``beliefs.py`` belief propagation, ``reliability.py`` the
regression that learns what the evidence is worth, ``field.py`` the loop of both. EM can start on the graph whose edges
weigh as much as they are trusted (``start=evidence``), and edges are listed as suspicious by it. ``links.py`` finds the
edges that look as if they were drawn by lot; those are cut before anything else is learned.
"""

from .field import MOST_MESSAGES, Field, edge_field, edge_links
from .links import Links

__all__ = ["MOST_MESSAGES", "Field", "Links", "edge_field", "edge_links"]
