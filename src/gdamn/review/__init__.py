"""A person in the loop: a local page that shows one doubtful item after the other and writes down what is decided.

``session.py`` holds a run, its queues and its log; ``views.py`` has what the page shows of an item; ``server.py``
serves the page on this machine alone. Belongs here: what happens between a finished run and the next one.
"""
