"""Choose settings by cross-validation over the labelled nodes of a graph, with scikit-learn's GridSearchCV."""

from __future__ import annotations

from sklearn.model_selection import GridSearchCV

from gdamn import GDAMN, TransductiveClassifier, load
from gdamn.estimators.transductive import labelled

graph = load("karate")
nodes, labels = labelled(graph)
model = GDAMN(pretrain_epochs=30, epochs=20, em_iterations=1, start="graph", random_state=0)
search = GridSearchCV(TransductiveClassifier(model, graph), {"model__hidden": [4, 16]}, cv=3)
search.fit(nodes, labels)
for hidden, score in zip((4, 16), search.cv_results_["mean_test_score"], strict=True):
    print(f"hidden={hidden}: {score:.2f} of the held-out nodes are right")
print("best:", search.best_params_)
