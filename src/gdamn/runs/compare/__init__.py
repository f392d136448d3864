"""Several methods on one data set: the same splits and seeds for all, what is finished kept, the rest fitted.

``fits`` keeps every finished fit, ``engine`` runs the missing ones, ``paired`` tests differences over seeds,
``verdict`` says what came out.
"""
