"""Matplotlib's SVG, made fit for a page: colours that follow the theme, no style attributes, ids of its own.

A chart is drawn with the colours of :data:`INKS`, each of which stands for a role. In the page they become classes
that the style sheet fills in for light and dark. Everything else that Matplotlib writes as a style becomes a plain
attribute, so that the page's policy needn't allow inline styles.
"""

from __future__ import annotations

import io as memory
import re
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree  # nosec B405  # for charts that Matplotlib drew for gdamn

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INKS = {
    "ink": "#010101",
    "soft": "#020202",
    "line": "#030303",
    "band": "#040404",
    "heat": "#050505",
    "first": "#060606",
    "second": "#070707",
    "third": "#080808",
    "paper": "#090909",
}
"""Role of a colour and the sign for it in a figure."""

_ROLES = {sign: role for role, sign in INKS.items()}
_NAMESPACE = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_DRAWN = {
    f"{{{_NAMESPACE}}}{tag}"
    for tag in ("defs", "g", "path", "use", "clipPath", "rect", "text", "tspan", "image", "title")
}
"""What Matplotlib draws with; its style and metadata go, and so would a script."""

_KEPT = {"fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "opacity", "fill-opacity"} | {
    *("stroke-opacity", "stroke-linecap", "stroke-linejoin", "text-anchor", "font-size", "font-weight")
}

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gdamn",
    "font.size": 10.5,
    "axes.edgecolor": INKS["line"],
    "axes.labelcolor": INKS["ink"],
    "axes.labelsize": 10.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INKS["ink"],
    "xtick.color": INKS["line"],
    "ytick.color": INKS["line"],
    "xtick.labelcolor": INKS["soft"],
    "ytick.labelcolor": INKS["soft"],
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "legend.handlelength": 1.6,
    "grid.color": INKS["band"],
    "grid.linewidth": 0.9,
    "text.parse_math": False,
}
"""Matplotlib's settings for every chart. Names of users are never read as formulas."""


def themed(figure: Figure, name: str, label: str) -> Markup:
    """The figure as an inline SVG.

    Args:
        name: begins every id in the SVG; different for each chart of a page.
        label: what the chart shows, for those who can't see it.
    """
    from matplotlib import rc_context

    buffer = memory.BytesIO()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a font without some sign; the browser has others
        no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=no_metadata, transparent=True)
    return cleaned(buffer.getvalue(), name, label)


def cleaned(content: bytes, name: str, label: str) -> Markup:
    """An SVG of Matplotlib's as an element of a page; ``name`` and ``label`` as in :func:`themed`."""
    root = ElementTree.fromstring(content)  # nosec B314  # the parser bounds what entities unfold to
    _clean(root, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-label": label, "class": "chart", "focusable": "false"}
    ElementTree.register_namespace("", _NAMESPACE)
    text = ElementTree.tostring(root, encoding="unicode")
    return Markup(text)  # nosec B704  # only what a drawing needs is in it


def _clean(element: ElementTree.Element, name: str) -> None:
    """Take out of an element and all below it what isn't drawing, the styles and foreign ids."""
    for child in list(element):
        if child.tag in _DRAWN:
            _clean(child, name)
        else:
            element.remove(child)
    attributes = element.attrib
    for key in [key for key in attributes if key.lower().startswith("on")]:
        del attributes[key]
    if "id" in attributes:
        attributes["id"] = f"{name}-{attributes['id']}"
    if _XLINK in attributes:  # a part of the drawing, or a picture that is in the attribute itself
        address = attributes.pop(_XLINK)
        if address.startswith("#"):
            attributes["href"] = f"#{name}-{address[1:]}"
        elif address.startswith("data:image/png;"):
            attributes["href"] = address
    if "clip-path" in attributes:
        attributes["clip-path"] = attributes["clip-path"].replace("#", f"#{name}-")
    style = attributes.pop("style", "")
    classes = []
    for key, value in re.findall(r"([\w-]+):\s*([^;]+)", style):
        size = re.search(r"([\d.]+)px", value) if key == "font" else None
        if size:
            attributes["font-size"] = size[1]
            if "bold" in value or re.search(r"\b[67]00\b", value):
                attributes["font-weight"] = "600"
        elif key in _KEPT:
            role = _ROLES.get(value.strip().lower())
            if role:
                classes.append(f"{key}-{role}")
            else:
                attributes[key] = value.strip()
    if classes:
        attributes["class"] = " ".join(classes)
