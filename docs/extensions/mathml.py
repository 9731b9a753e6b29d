"""Formulas as MathML, made when the site is built: browsers draw them without scripts, fonts or a network."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Browsers leave no space between a function's name and its argument, and some on both sides of a bar whose
# place in the formula does not show that it opens or closes.
APPLIED = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*(?:<mrow>\s*)?<mo[^>]*>[(\[])")
SPACED = '<mo>&ApplyFunction;</mo><mspace width="0.1667em"></mspace>'
BARS = ((r"(?<!\\left)(\\l[vV]ert)", r"\\left\1"), (r"(?<!\\right)(\\r[vV]ert)", r"\\right\1"))


def to_mathml(node: nodes.math | nodes.math_block) -> str:
    """Return the MathML of a formula; one it cannot translate gives a warning and is shown as written."""
    formula = node.astext()
    paired = formula
    for bar, pair in BARS:
        paired = re.sub(bar, pair, paired)
    try:
        return APPLIED.sub(SPACED, tex2mathml(paired, as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        logger.warning("formula %r: %s", formula, error, location=node, type="mathml")
        return f"<code>{html.escape(formula)}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(to_mathml(node))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, in a box that scrolls where it is wider than the page."""
    attributes = {"ids": node["ids"]} if node.get("ids") else {}
    self.body.append(self.starttag(node, "div", CLASS="formula", **attributes))
    self.body.append(to_mathml(node))
    if number := node.get("number"):
        self.body.append(f'<span class="equation-number">({number})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
