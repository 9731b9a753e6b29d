"""What all figures share: the plotting library, colours, sizes, and how they are written.

Figures are drawn without any state of the library, so that they do not depend on what else was drawn.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.exceptions import MissingPlotterError
from pbgnet.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "INK",
    "MARKERS",
    "PAPER",
    "RULE",
    "SOFT",
    "WIDTH",
    "empty_panel",
    "mathematical",
    "new_figure",
    "png_bytes",
    "require_matplotlib",
    "save_figure",
    "svg_text",
]

WIDTH = 9.0  # inches; a page of the report is as wide

# No other part of a figure has these colours: the report exchanges them for those of a dark page.
INK, SOFT, RULE, PAPER = "#1b2330", "#566073", "#dde1e8", "#ffffff"

# Okabe and Ito's colours, which every kind of colour vision tells apart.
COLOURS = {
    "mlp": "#999999",
    "pbgnet_l": "#e69f00",
    "pbgnet_l_bnd": "#cc79a7",
    "pbgnet": "#0072b2",
    "pbgnet_pre": "#009e73",
}
MARKERS = {"mlp": "s", "pbgnet_l": "o", "pbgnet_l_bnd": "^", "pbgnet": "D", "pbgnet_pre": "v"}

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "figure.titlesize": 12.0,
    "figure.titleweight": "bold",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": "none",
    "text.color": INK,
    "axes.titlecolor": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 2.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "pbgnet",
}


def require_matplotlib() -> Any:
    """Return the plotting library.

    Raises
    ------
    MissingPlotterError
        If it is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPlotterError(
            "Figures need matplotlib, which is not installed; get it with pip install 'pbgnet[report]'."
        ) from error
    return matplotlib


@contextmanager
def new_figure(height: float, width: float = WIDTH) -> Iterator["Figure"]:
    """Give an empty figure, inches high and wide, to draw on in the style of the report."""
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield Figure(figsize=(width, height), layout="constrained")


def svg_text(figure: "Figure") -> str:
    """Return a figure as SVG, the same bytes for the same figure."""
    return _written(figure, "svg", {"Date": None, "Creator": None, "Format": None, "Type": None}).decode()


def png_bytes(figure: "Figure") -> bytes:
    """Return a figure as PNG, the same bytes for the same figure."""
    return _written(figure, "png", {"Software": None})


def save_figure(figure: "Figure", stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, each whole or not at all; `stem` has no ending."""
    png, svg = (stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg"))
    return [write_whole(png, png_bytes(figure)), write_whole(svg, svg_text(figure))]


def mathematical(name: str) -> str:
    """Return the name of an algorithm with its subscript in the library's notation for formulas."""
    start, brace, subscript = name.partition("_{")
    ell = "\N{SCRIPT SMALL L}"
    parts = subscript.rstrip("}").partition(ell)
    inner = (r"\ell" if parts[1] else "") + rf"\mathrm{{{parts[0]}{parts[2]}}}"
    return f"{start}$_{{{inner}}}$" if brace else start


def empty_panel(axes: "Axes", text: str = "no finished run yet") -> None:
    """Say in a panel that there is nothing to show."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT)


def _written(figure: "Figure", kind: str, metadata: dict[str, None]) -> bytes:
    matplotlib = require_matplotlib()
    buffer = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()
