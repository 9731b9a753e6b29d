"""Writes everything that can be made from stores: tables, figures, and one page with all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pbgnet.exceptions import StoreError
from pbgnet.experiments.figures import (
    TOYS,
    activation_figure,
    main_results_figure,
    representation_figure,
    require_matplotlib,
    sample_size_curves,
    sample_size_figure,
    save_figure,
    train_toy,
    training_size_columns,
    training_size_curves,
    training_size_figure,
)
from pbgnet.experiments.report.findings import sample_size_sentences, training_size_sentences
from pbgnet.experiments.report.study_page import StudyPart, render_studies
from pbgnet.experiments.studies import NAMES, StudyResults, read_results
from pbgnet.experiments.tables import (
    StudyTable,
    epoch_table,
    main_results_table,
    run_summary_table,
    sample_size_table,
    selected_models_table,
    variance_table,
)
from pbgnet.files import write_whole
from pbgnet.pages import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class StudyReport:
    """What was written."""

    page: Path  # self-contained
    files: tuple[Path, ...]  # all of them, the page first


def write_study_report(
    stores: Iterable[str | Path] | str | Path,
    out_dir: str | Path,
    studies: Iterable[str | Path] | None = None,
    *,
    illustrations: bool = True,
) -> StudyReport:
    """Write tables (Markdown, LaTeX), figures (PNG, SVG) and report.html into a folder.

    Each file is written completely or not at all, and the same stores give the same files. A study that is
    still running has gaps. The folder is created if it does not exist; files of the same names are replaced.
    Studies are names or TOML files, by default all with results in the stores. Illustrations are the
    activations and two toy networks, which are trained for it in seconds.
    """
    require_matplotlib()
    results = read_results(stores, studies)
    if not results:
        raise StoreError(
            "The stores contain no finished run of a study that comes with pbgnet; pass the TOML "
            "file of the study, or run one first."
        )
    folder = Path(out_dir)
    for part in ("tables", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    parts = [_write_study(result, folder, files) for result in results]
    _write_table(run_summary_table(results), folder, files)
    drawn = _write_illustrations(folder, files) if illustrations else []
    page = write_whole(folder / "report.html", render_studies(parts, drawn))
    return StudyReport(page, (page, *files))


def kind_of(results: StudyResults) -> str:
    """Derive from its grid what a study is about: "training-size", "sample-size", "variance" or "main"."""
    runs = results.study.runs
    if any(run.n_train is not None for run in runs):
        return "training-size"
    if len(results.split_seeds) == 1:
        return "main"
    sampled = {run.n_samples for run in runs if run.training != "mlp"}
    return "sample-size" if len(sampled) > 1 and len({run.architecture for run in runs}) == 1 else "variance"


def _write_study(results: StudyResults, folder: Path, files: list[Path]) -> StudyPart:
    kind = kind_of(results)
    if kind == "training-size":
        return _write_training_size(results, folder, files)
    if kind == "sample-size":
        return _write_sample_size(results, folder, files)
    tables = [variance_table(results)]
    if kind == "main":
        tables = [main_results_table(results), selected_models_table(results)]
        if "pbgnet_l_bnd" in results.study.algorithms:
            tables.append(epoch_table(results))
    for table in tables:
        _write_table(table, folder, files)
    caption = (
        "Coloured bars are test errors, outlined bars train errors; the number on top is the bound on "
        "the linear loss, with the study's count of priors. Diamonds are the paper's test errors."
    )
    drawing = _draw(main_results_figure(results), f"{results.study.name}-results", caption, folder, files)
    return StudyPart(results, tuple(tables), (drawing,))


def _write_training_size(results: StudyResults, folder: Path, files: list[Path]) -> StudyPart:
    name, datasets = results.study.name, results.study.datasets
    drawings, findings = [], []
    for dataset in datasets:
        columns = training_size_columns(results, dataset)
        caption = (
            f"{dataset}: lines are means over {len(results.split_seeds)} random splits, shaded areas one "
            "deviation up and down. Bounds that are trivial are left out."
        )
        if len(columns) > len(results.study.algorithms):
            caption += " The choice among all architectures is shown for sizes whose runs are all finished."
        stem = name if len(datasets) == 1 else f"{name}-{dataset}"
        drawings.append(_draw(training_size_figure(results, dataset), stem, caption, folder, files))
        for column in columns:
            curves = training_size_curves(column.results, dataset, column.algorithm)
            findings += training_size_sentences(dataset, column.label(NAMES[column.algorithm]), curves)
    return StudyPart(results, (), tuple(drawings), tuple(findings))


def _write_sample_size(results: StudyResults, folder: Path, files: list[Path]) -> StudyPart:
    caption = (
        "Test error against the number T of samples in training and prediction: means over "
        f"{len(results.split_seeds)} random splits, shaded one deviation up and down. Dashed lines and "
        "their bands are the exact aggregate."
    )
    curves = sample_size_curves(results)
    drawing = _draw(sample_size_figure(results, curves), results.study.name, caption, folder, files)
    tables = (
        sample_size_table(results, "test_error", curves),
        sample_size_table(results, "bound", sample_size_curves(results, "bound")),
    )
    for table in tables:
        _write_table(table, folder, files)
    return StudyPart(results, tables, (drawing,), tuple(sample_size_sentences(curves)))


def _write_illustrations(folder: Path, files: list[Path]) -> list[Drawing]:
    drawings = []
    for name in TOYS:
        caption = (
            f"A network with one hidden layer of three on the {name}, trained on the spot. Each of the eight "
            "sign vectors s of the hidden layer votes with its probability; the votes add up to the output "
            "of the aggregated network. The sign network has the same weights and no noise. Circles and "
            "triangles are rows of the two classes."
        )
        drawings.append(
            _draw(representation_figure(train_toy(name)), f"representations-{name}", caption, folder, files)
        )
    caption = "Averaging the sign over Gaussian weights gives the error function, which is close to tanh."
    drawings.append(_draw(activation_figure(), "activations", caption, folder, files, narrow=True))
    return drawings


def _draw(
    figure: "Figure", name: str, caption: str, folder: Path, files: list[Path], narrow: bool = False
) -> Drawing:
    png, svg = save_figure(figure, folder / "figures" / name)
    files += [png, svg]
    return Drawing(name, caption, svg.read_text(encoding="utf-8"), narrow)


def _write_table(table: StudyTable, folder: Path, files: list[Path]) -> None:
    for ending, text in (("md", table.markdown()), ("tex", table.latex())):
        files.append(write_whole(folder / "tables" / f"{table.name}.{ending}", text))
