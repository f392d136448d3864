"""The paper's equations: attention, objectives, the two networks, and the problem that they are trained on.

Belongs here: what is computed in one step, and the settings that it reads. Must not import: fit and all that is built
on it.
"""
