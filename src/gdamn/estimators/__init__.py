"""The estimators that users call, in scikit-learn's manner, the registry of all methods, and model files.

Belongs here: fit, predict, refine, save and load. Must not import: baselines (the registry names them), data, runs.
"""
