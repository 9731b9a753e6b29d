"""Charts as a separate file for documents: one SVG that follows the reader's light or dark scheme."""

from collections.abc import Sequence

from pbgnet.pages.chart import Chart
from pbgnet.pages.rendering import fill

MARGIN = 20.0
TITLE = 26.0


def render_picture(title: str, charts: Sequence[Chart]) -> str:
    """Return an SVG file with charts one below the other, each with its title.

    Examples
    --------
    >>> from pbgnet.pages import Chart, mark, render_picture
    >>> chart = Chart("one", "One line", "From left to right.", 100, 20, [mark("line", x1=0, x2=100)])
    >>> render_picture("Lines", [chart]).startswith("<svg xmlns=")
    True
    """
    placed, top = [], MARGIN
    for chart in charts:
        placed.append((top, chart))
        top += TITLE + chart.height + MARGIN
    width = max((chart.width for chart in charts), default=0.0) + 2 * MARGIN
    return str(
        fill(__file__, title=title, placed=placed, width=width, height=top, margin=MARGIN, space=TITLE)
    )
