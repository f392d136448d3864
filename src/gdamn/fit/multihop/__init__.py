"""What few labels say by themselves: cross-fitted logistic regressions on multi-hop features.

``features.py`` has the features, ``labels.py`` propagated labels, ``logistic.py`` the regression, ``cross_fitting.py``
the folds, ``opinion.py`` the weighted mean of the candidates, which EM starts from where a graph has no validation
nodes (em.py).
"""

from .opinion import Opinion, describe, features_opinion, multihop_opinion

__all__ = ["Opinion", "describe", "features_opinion", "multihop_opinion"]
