"""HTML pages and cards without external resources or scripts: layout, colours, charts, all values escaped."""

from pbgnet.pages.axis import Axis, tick_text
from pbgnet.pages.bars import Bar, Bars
from pbgnet.pages.card import Card, Check, Checks, render_card
from pbgnet.pages.chart import Chart, Mark, label, level_lines, mark
from pbgnet.pages.difference import page_difference
from pbgnet.pages.drawing import Drawing
from pbgnet.pages.palette import LIGHT
from pbgnet.pages.picture import render_picture
from pbgnet.pages.rendering import SUBSCRIPT, fill, plain_text, render_page

__all__ = [
    "LIGHT",
    "SUBSCRIPT",
    "Axis",
    "Bar",
    "Bars",
    "Card",
    "Chart",
    "Check",
    "Checks",
    "Drawing",
    "Mark",
    "fill",
    "label",
    "level_lines",
    "mark",
    "page_difference",
    "plain_text",
    "render_card",
    "render_page",
    "render_picture",
    "tick_text",
]
