"""The reference of a run: how well simple methods do on the same labels, beside what gdamn starts from.

Every labelled node is judged by models that have not seen its label, all on the same folds
(fit/multihop/cross_fitting.py), so no label is spent on it:

    rows.py      the rows of labelled nodes in X, Â² X and Â⁴ X, exactly and in few columns
    judging.py   what each method says of labels that it has not seen
    verdict.py   paired tests, and what they say in a sentence
    table.py     all of it as plain data, for ``summary.json``
    of_run.py    the reference of a run, and the method that ``--method auto`` takes

Only the labels of training nodes are read. What imports numpy is imported on first use, since a run sets the number
of threads before.
"""

AUTO = "auto"
"""In the place of a method: gdamn, or a simple method that is better beyond noise."""
