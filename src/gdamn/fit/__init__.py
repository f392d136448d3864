"""Algorithm 1: how a model is trained. ``em.py`` is the loop, ``training.py`` an epoch, ``domains/`` where it runs.

Belongs here: phases, epochs, the choice of an epoch, checkpoints. Must not import: estimators, data and all that is
built on them.
"""
