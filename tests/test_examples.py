"""The gallery: every example runs, finds what it says, and draws a picture that can be read on a phone."""

import json
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from pbgnet.pages import LIGHT

FOLDER = Path(__file__).resolve().parents[1] / "examples"
ORDER = (FOLDER / "order.txt").read_text().split()
SMALLEST = 8.5
"""Points; in a picture 5.2 inches wide that is 9 pixels on a phone of 390 pixels."""


def bound(found):
    return found["certificate"].error_rate.value


# What each example claims to show, from the names it leaves behind.
FINDINGS = {
    "certify_a_forest": lambda f: f["report"].ok and f["bounds"][-1] == pytest.approx(100 * bound(f)),
    "mixed_table": lambda f: (
        f["found"][0] > 100 * f["bounds"][0] and f["found"][1] < 100 * f["bounds"][1] and f["told"]
    ),
    "certified_confusion_matrix": lambda f: f["report"].ok and f["off_diagonal"].max() < 25,
    "several_labels": lambda f: all(
        rate < claim.value for rate, claim in zip(f["true_rates"], f["claims"], strict=True)
    ),
    "certified_groups": lambda f: f["groups"][0].upper < f["groups"][-1].lower,
    "sparse_text": lambda f: (
        bound(f) < 0.06
        and f["effects"][: len(f["COMPLAINT"])].max() < 0 < f["effects"][-len(f["PRAISE"]) :].min()
    ),
    "images": lambda f: bound(f) < 0.1 and len(f["mistakes"]) >= 12,
    "plan_the_rows": lambda f: f["to_buy"] == 601,
    "answer_only_when_sure": lambda f: f["fresh_errors"] < 0.02 and None in f["answers"][:20],
    "certificate_in_use": lambda f: f["alarms"] == {"change": 11, "error": 11},
    "verify_as_an_auditor": lambda f: f["honest"].ok and f["caught"] == 4,
    "export_to_onnx": lambda f: f["same"] == 1 and f["ours"] < f["shipped"] < 0.06,
    "bound_minimisation_by_hand": lambda f: f["bounds"][-1] < f["bounds"][0] and 2 * f["bound"] < 0.2,
    "new_bound": lambda f: (f["mine"] < f["true_rate"]).mean() < (f["exact"] < f["true_rate"]).mean() <= 0.05,
    "moons_figure": lambda f: abs(f["found"].parts.sum(0) - f["found"].aggregate).max() < 1e-8,
}


@pytest.fixture
def pictures():
    """Draw without a window by default settings, and close everything afterwards."""
    with mpl.rc_context():
        mpl.rcdefaults()
        plt.switch_backend("agg")
        yield lambda: [plt.figure(number) for number in plt.get_fignums()]
        plt.close("all")


def test_the_order_names_every_example():
    assert sorted(ORDER) == sorted(path.name for path in FOLDER.glob("*.py"))
    assert [Path(name).stem for name in sorted(ORDER)] == sorted([*FINDINGS, "quickstart"])


@pytest.mark.parametrize("name", FINDINGS)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
def test_an_example_finds_what_it_says_and_draws_it(name, pictures, capsys):
    found = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert FINDINGS[name](found)
    assert re.search(r"\d", capsys.readouterr().out)
    drawn = pictures()
    assert drawn
    for figure in drawn:
        check_picture(figure)


def check_picture(figure):
    """A title, names of the axes, no tiny text, and no text beyond the edge of the picture."""
    assert figure.get_size_inches()[0] <= 5.2
    figure.canvas.draw()
    titles = [figure.get_suptitle(), *(axes.get_title(loc="left") for axes in figure.axes)]
    assert any(len(title) > 15 for title in titles)
    for axes in figure.axes:
        if axes.axison:
            assert axes.get_xlabel() or axes.get_shared_x_axes().get_siblings(axes) != [axes]
            assert axes.get_ylabel() or axes.get_yticklabels()
    edge = figure.bbox.padded(1)
    for text in texts_of(figure):
        assert text.get_fontsize() >= SMALLEST, text.get_text()
        box = text.get_window_extent()
        inside = edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1
        assert inside, text.get_text()


def texts_of(figure):
    """All texts that are drawn but those of ticks, of which matplotlib keeps some beyond the limits."""
    ticks = {text for axis in figure.findobj(mpl.axis.Axis) for text in axis.get_ticklabels(which="both")}
    ticks |= {text for tick in figure.findobj(mpl.axis.Tick) for text in (tick.label1, tick.label2)}
    found = [text for text in figure.findobj(mpl.text.Text) if text not in ticks and text.get_text().strip()]
    return [text for text in found if text.axes is None or text.axes.axison or text in titles_of(text.axes)]


def titles_of(axes):
    return [child for child in axes.get_children() if isinstance(child, mpl.text.Text)]


def test_the_style_has_the_colours_of_all_pages():
    with plt.style.context("pbgnet.pages.gallery"):
        cycle = [
            f"#{colour.removeprefix('#')}" for colour in mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        ]
        assert f"#{mpl.rcParams['text.color'].removeprefix('#')}" == LIGHT["ink"]
    names = ("certified", "measured", "trivial", "wrong", "held-out", "good")
    assert cycle == [LIGHT[name] for name in names]


def test_the_quickstart_runs_as_a_notebook(monkeypatch):
    """The notebook holds what the script holds; a test of what is generated compares them."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # notebooks have one of their own
    notebook = nbformat.read(FOLDER / "quickstart.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = "".join(
        output.text for output in outputs if output.output_type == "stream" and output.name == "stdout"
    )
    assert re.search(r"Wrong at most \d+\.\d % of the time \(95 % confidence, 285 rows", shown)
    assert shown.count("Verified: ") == 2
    pages = [output.data for output in outputs if "data" in output]
    assert sum("pbgnet-card" in data.get("text/html", "") for data in pages) == 1
    assert sum("image/png" in data for data in pages) == 1


def test_a_script_becomes_a_notebook(tmp_path):
    make = runpy.run_path(str(FOLDER.parent / "docs" / "notebook.py"))["notebook_of"]
    script = tmp_path / "made.py"
    script.write_text(
        '"""\nTitle\n=====\n\nOf ``code``.\n"""\n\nx = 1\n\n# %%\n# Part\n# ----\n\nx\n\n# %%\n\ny = 2\n'
    )
    cells = json.loads(make(script))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\nOf `code`."),
        ("code", "x = 1"),
        ("markdown", "## Part"),
        ("code", "x"),
        ("code", "y = 2"),
    ]
