"""What all figures share: the plotting library, colours, sizes, and how they are saved.

Figures do not use the library's global state, so they do not depend on what else was drawn.
"""

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.exceptions import MissingPlotterError
from pbgnet.files import write_whole
from pbgnet.pages import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0  # inches; as wide as a page of the report
COLUMNS = 3  # most panels side by side

# Metadata that would differ from run to run, or name the program; left out.
METADATA = {"png": ("Software",), "svg": ("Date", "Creator", "Format", "Type")}

# No other part of a figure has these colours: the report replaces them by those of a dark page.
INK, SOFT, RULE, PAPER = (LIGHT[name] for name in ("ink", "soft", "rule", "paper"))

# Okabe and Ito's colours, which can be told apart with every kind of colour vision.
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
    """Return the plotting library; raise `MissingPlotterError` if it is not installed."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPlotterError(
            "Figures require matplotlib, which is not installed: pip install matplotlib."
        ) from error
    return matplotlib


@contextmanager
def _style_of_the_report() -> Iterator[None]:
    """Draw with the settings of the report only, whatever the user's are."""
    matplotlib = require_matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


@contextmanager
def new_figure(height: float, width: float = WIDTH) -> Iterator["Figure"]:
    """Give an empty figure, inches high and wide, to draw on in the style of the report."""
    with _style_of_the_report():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: "Figure", stem: Path) -> list[Path]:
    """Save a figure as PNG and SVG, each completely or not at all; the same figure gives the same bytes."""
    files = []
    for kind, metadata in METADATA.items():
        buffer = io.BytesIO()
        with _style_of_the_report():
            figure.savefig(buffer, format=kind, dpi=150, metadata=dict.fromkeys(metadata))
        files.append(write_whole(stem.with_name(f"{stem.name}.{kind}"), buffer.getvalue()))
    return files


@contextmanager
def dataset_panels(
    datasets: Sequence[str], row_height: float, label: str
) -> Iterator[tuple["Figure", "list[Axes]"]]:
    """Give a figure with a panel for each data set; those on the left have the label of their axis."""
    n_rows, n_columns = math.ceil(len(datasets) / COLUMNS), min(COLUMNS, len(datasets))
    with new_figure(1.3 + row_height * n_rows) as figure:
        panels: list[Axes] = figure.subplots(n_rows, n_columns, squeeze=False).flatten().tolist()
        for axes, dataset in zip(panels, datasets, strict=False):
            axes.set_title(dataset)
        for axes in panels[len(datasets) :]:
            axes.set_axis_off()
        for axes in panels[::n_columns]:
            axes.set_ylabel(label)
        yield figure, panels


def add_shared_legend(figure: "Figure", panels: "Iterable[Axes]") -> None:
    """Explain below the figure what its panels show, each label once."""
    entries = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4)


def mathematical(name: str) -> str:
    """Return the name of an algorithm with its subscript in the library's math notation."""
    start, brace, subscript = name.partition("_{")
    ell = "\N{SCRIPT SMALL L}"
    parts = subscript.rstrip("}").partition(ell)
    inner = (r"\ell" if parts[1] else "") + rf"\mathrm{{{parts[0]}{parts[2]}}}"
    return f"{start}$_{{{inner}}}$" if brace else start


def empty_panel(axes: "Axes", text: str = "no finished runs yet") -> None:
    """Say in a panel that there is nothing to show."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT)
