"""Tables that fit the terminal: numbers stay whole, the column with most text gives way first, words stay words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

NUMBER = re.compile(r" \d+(\.\d+)? %$")
"""A share at the end of a text, which stays."""

LEAST = 8
"""Characters that a column of text keeps at least."""


def make_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Sequence[str],
    wrap: bool,
    room: int,
) -> Table:
    """A table of at most ``room`` characters, as far as its numbers let it.

    Args:
        right: the columns of numbers, which are never cut; their heads may stand on several lines.
        wrap: text that is too long goes on in the next line, between words; otherwise it is shortened in its middle.
    """
    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    widths = fitted(columns, cells, right, room)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name, width in zip(columns, widths, strict=True):
        table.add_column(name, justify="right" if name in right else "left", min_width=width, max_width=width)
    for row in cells:
        table.add_row(*(shortened(cell, width, wrap) for cell, width in zip(row, widths, strict=True)))
    return table


def fitted(columns: Sequence[str], cells: Sequence[Sequence[Text]], right: Sequence[str], room: int) -> list[int]:
    """The width of each column: heads of numbers give way first, then the widest text, again and again."""
    longest = [max((row[at].cell_len for row in cells), default=0) for at in range(len(columns))]
    widths = [max(Text(name).cell_len, size) for name, size in zip(columns, longest, strict=True)]
    over = sum(widths) + 3 * len(columns) + 1 - room
    for at, name in enumerate(columns):
        if over > 0 and name in right:
            least = max(longest[at], *(len(word) for word in name.split()))
            over -= widths[at] - least
            widths[at] = least
    text = {at: max(LEAST, *map(len, name.split())) for at, name in enumerate(columns) if name not in right}
    while over > 0 and any(widths[at] > least for at, least in text.items()):
        widths[max(text, key=lambda at: (widths[at] > text[at], widths[at]))] -= 1
        over -= 1
    return widths


def shortened(cell: Text, width: int, wrap: bool) -> Text:
    """The cell with each word, or all of it, shortened to the width."""
    if cell.cell_len <= width:
        return cell
    if not wrap:
        return Text(middle(cell.plain, width), style=cell.style)
    if all(len(word) <= width for word in cell.plain.split()):
        return cell
    return Text(" ".join(middle(word, width) for word in cell.plain.split(" ")), style=cell.style)


def middle(text: str, width: int) -> str:
    """A text whose middle is left out where it is longer than the width: both ends tell ids apart."""
    if len(text) <= width:
        return text
    number = NUMBER.search(text)
    tail = max((width - 1) // 2, len(number[0]) if number else 0)
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
