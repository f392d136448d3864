"""Encoder: columns to features, fitted once, kept as JSON, and the same for new nodes.

It reads no label. Numbers are standardised, categories become one column each, a text becomes TF-IDF; where there is
nothing of that, the graph itself gives the features (:mod:`gdamn.data.structure_features`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import DataError, in_short
from . import structure_features as structure
from .encoder_check import wrong_encoder
from .files.arrow import pa, pc
from .files.columns import as_numbers, as_texts
from .files.table import Table

FORMAT = 1
MOST_CATEGORIES = 1000
AUTO_CATEGORIES = 50
"""A column that nobody asked for is one-hot encoded only up to this many categories."""

MOST_WORDS = 5000
MOST_NOTES = 50
"""Columns that get a sentence of their own."""

Edges = NDArray[np.int64]


@dataclass(frozen=True)
class Encoder:
    """How the features were made.

    Attributes:
        kind: ``columns``, ``structural`` or ``given`` (a matrix in the file, taken as it is).
        numeric: name, mean and spread of each column of numbers.
        categorical: name and categories of each column of names.
        text: name, words and idf of the column of texts.
        structural: mean and spread of log(1 + degree), and 1 - the eigenvalues.
        width: number of features.
        left_out: columns that nobody asked for and that were not taken, with the reason.
    """

    kind: str
    width: int
    numeric: Sequence[Mapping[str, Any]] = ()
    categorical: Sequence[Mapping[str, Any]] = ()
    text: Mapping[str, Any] | None = None
    structural: Mapping[str, Any] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def fit(cls, table: Table, columns: Sequence[str] | None, text: str | None, others: Sequence[str]) -> Encoder:
        """Learn from a table what to do with its columns.

        Args:
            columns: those that were asked for; None takes all of ``others`` that make sense.
            text: the column of texts.
            others: columns that may be features.
        """
        numeric, categorical, left_out = [], [], {}
        for name in others if columns is None else columns:
            numbers = as_numbers(table, name)
            if numbers is not None:
                numeric.append({"name": name, "mean": float(numbers.mean()), "spread": float(numbers.std())})
                continue
            categories = pc.unique(as_texts(table, name)).drop_null().to_pylist()
            most = AUTO_CATEGORIES if columns is None else MOST_CATEGORIES
            reason = useless(categories, most, table.data.num_rows, columns is None)
            if reason and columns is None:
                left_out[name] = reason
            elif reason:
                raise DataError(f"Column '{name}' of '{table.name}' {reason}; name it with --text if it is a text.")
            else:
                categorical.append({"name": name, "categories": sorted(categories)})
        words = None if text is None else _fit_text(table, text)
        width = len(numeric) + sum(len(each["categories"]) for each in categorical)
        width += 0 if words is None else len(words["words"])
        kind = "columns" if width else "structural"
        return cls(kind, width, numeric, categorical, words, None, left_out)

    @classmethod
    def of_matrix(cls, width: int) -> Encoder:
        """Features that the file holds as numbers."""
        return cls("given", width)

    def fit_structure(self, edges: Edges, n: int) -> tuple[Encoder, NDArray[np.float32]]:
        """An encoder of structural features, fitted on the edges, and these features [N, F]."""
        matrix = structure.adjacency(edges, n)
        degrees = structure.log_degrees(matrix)
        vectors, values = structure.eigenvectors(matrix)
        learned = {"mean": float(degrees.mean()), "spread": float(degrees.std()), "values": values.tolist()}
        encoder = Encoder("structural", 1 + len(values), structural=learned, left_out=self.left_out)
        return encoder, encoder.structural_features(edges, n, vectors.astype(np.float32))

    def structural_features(self, edges: Edges, n: int, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """[N, F] the degree, standardised, and the eigenvectors."""
        assert self.structural is not None
        degrees = structure.log_degrees(structure.adjacency(edges, n))
        first = structure.standardised(degrees, self.structural["mean"], self.structural["spread"])
        return np.column_stack([first, vectors]).astype(np.float32)

    def transform(self, table: Table) -> Any:
        """[N, F] features of a table's rows: an array, or CSR where there are categories or texts."""
        if self.kind != "columns":
            raise DataError(f"The features of this run are {self.kind}; they don't come from the columns of a table.")
        blocks: list[Any] = []
        for each in self.numeric:
            name = table.need(each["name"], "features")
            numbers = as_numbers(table, name)
            if numbers is None:
                raise DataError(f"Column '{name}' of '{table.name}' must hold numbers, as it did in training.")
            blocks.append(structure.standardised(numbers, each["mean"], each["spread"])[:, None].astype(np.float32))
        blocks = [np.hstack(blocks)] if blocks else []
        if not self.categorical and self.text is None:
            return blocks[0]
        if self.categorical:
            blocks.append(_one_hot(table, self.categorical))
        if self.text is not None:
            blocks.append(_tfidf(table, self.text))
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks]), dtype=np.float32)

    def describe(self) -> list[str]:
        """How the features were made, in sentences."""
        lines = []
        if self.kind == "given":
            lines.append(f"Features: the {self.width:,} of the file, as they are.")
        if self.kind == "structural" and self.structural is not None:
            vectors = len(self.structural["values"])
            lines.append(f"Features: none given, so the degree and {vectors} Laplacian eigenvectors are used.")
        if self.numeric:
            lines.append(f"Features: {_names(self.numeric)} standardised to mean 0 and spread 1.")
        constant = [each for each in self.numeric if not each["spread"] > 0]
        if constant:
            lines.append(f"Features: {_names(constant)} constant, so it tells nothing.")
        for each in self.categorical[:MOST_NOTES]:
            lines.append(f"Features: '{each['name']}' one-hot encoded in {len(each['categories'])} categories.")
        if len(self.categorical) > MOST_NOTES:
            lines.append(f"Features: {len(self.categorical) - MOST_NOTES:,} more columns one-hot encoded.")
        if self.text is not None:
            lines.append(f"Features: TF-IDF of '{self.text['name']}' over {len(self.text['words']):,} words.")
        lines += [f"Left out: '{name}', which {reason}." for name, reason in list(self.left_out.items())[:MOST_NOTES]]
        if len(self.left_out) > MOST_NOTES:
            lines.append(f"Left out: {len(self.left_out) - MOST_NOTES:,} more columns, for such reasons.")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> Encoder:
        """From plain data that :meth:`as_dict` made."""
        try:
            if values["format"] > FORMAT:
                raise DataError(f"'{where}' was written by a newer gdamn; upgrade gdamn to read it.")
            encoder = cls(**{key: value for key, value in values.items() if key != "format"})
        except (KeyError, TypeError) as cause:
            raise DataError(f"'{where}' is not an encoder that gdamn wrote: {in_short(cause)}.") from None
        wrong = wrong_encoder(values)
        if wrong:
            raise DataError(f"'{where}' is not an encoder that gdamn wrote: {wrong}.")
        return encoder


def useless(categories: list[str], most: int, rows: int, auto: bool) -> str:
    """Why a categorical column can't be a feature; empty where it can."""
    if not categories:
        return "is empty"
    if len(categories) > most:
        return f"has {len(categories):,} different values, too many to be categories"
    if auto and len(categories) > 2 and len(categories) > rows / 2:
        return f"has {len(categories)} different values in {rows} rows, too many to be categories"
    return ""


def _names(columns: Sequence[Mapping[str, Any]]) -> str:
    names = [f"'{each['name']}'" for each in columns]
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return f"{listed} {'is' if len(names) == 1 else 'are'}"


def _one_hot(table: Table, columns: Sequence[Mapping[str, Any]]) -> sp.csr_array:
    """[N, C] one 1 per row and column of names; none where the cell is empty or holds a category new since training.

    All columns make one matrix: putting thousands of small ones together takes far longer.
    """
    rows, places, width = [], [], 0
    for each in columns:
        texts = as_texts(table, table.need(each["name"], "features"))
        at = pc.index_in(texts, value_set=pa.array(list(each["categories"]), pa.large_string()), skip_nulls=True)
        codes = pc.fill_null(at, -1).to_numpy(zero_copy_only=False)
        known = np.flatnonzero(codes >= 0)
        rows.append(known)
        places.append(codes[known].astype(np.int64) + width)
        width += len(each["categories"])
    row, place = np.concatenate(rows), np.concatenate(places)
    return sp.csr_array((np.ones(len(row), np.float32), (row, place)), shape=(table.data.num_rows, width))


def _fit_text(table: Table, name: str) -> dict[str, Any]:
    """Words and idf of a column of texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = pc.fill_null(as_texts(table, name), "").to_pylist()
    fitted = TfidfVectorizer(max_features=MOST_WORDS, min_df=2 if len(texts) >= 50 else 1, dtype=np.float64)
    try:
        fitted.fit(texts)
    except ValueError:
        raise DataError(f"Column '{name}' of '{table.name}' has no words that two rows share.") from None
    return {"name": name, "words": fitted.get_feature_names_out().tolist(), "idf": fitted.idf_.tolist()}


def _tfidf(table: Table, learned: Mapping[str, Any]) -> sp.csr_array:
    """[N, words] TF-IDF with the words and idf that were learned."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = pc.fill_null(as_texts(table, table.need(learned["name"], "text")), "").to_pylist()
    vectorizer = TfidfVectorizer(vocabulary={word: at for at, word in enumerate(learned["words"])}, dtype=np.float64)
    vectorizer.idf_ = np.asarray(learned["idf"], dtype=np.float64)
    return sp.csr_array(vectorizer.transform(texts), dtype=np.float32)
