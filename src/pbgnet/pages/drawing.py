"""Figures drawn elsewhere, as parts of a page."""

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from pbgnet.pages.palette import LIGHT
from pbgnet.pages.rendering import fill

# Figures use these colours for nothing else, so that they can follow the reader's scheme.
EXCHANGED = ("ink", "soft", "rule", "paper")


@dataclass(frozen=True)
class Drawing:
    """A figure in SVG; a template can print the object directly.

    Attributes
    ----------
    name : str
        Unique in the page.
    caption : str
        Says in words what is drawn.
    svg : str
    narrow : bool
    """

    name: str
    caption: str
    svg: str
    narrow: bool = False

    def __html__(self) -> str:
        view = re.search(r'viewBox="([^"]*)"', self.svg)
        assert view is not None
        return fill(__file__, drawing=self, view=view[1], content=Markup(self._content()))

    def _content(self) -> str:
        """Return the content of the figure, with unique names and the page's colours, without addresses."""
        svg = re.sub(r"<!--.*?-->", "", self.svg, flags=re.DOTALL)
        svg = re.sub(r".*?<svg[^>]*>", "", svg, count=1, flags=re.DOTALL)
        svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
        prefix = f"{escape(self.name)}-"
        svg = re.sub(r'\bid="|href="#|url\(#', lambda found: found[0] + prefix, svg)
        svg = svg.replace("xlink:href", "href")
        # A style sheet of the figure would affect the whole page.
        svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
        for name in EXCHANGED:
            svg = svg.replace(LIGHT[name], f"var(--{name})")
        return svg[: svg.rindex("</svg>")]
