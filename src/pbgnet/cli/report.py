"""``pbgnet report``: tables and figures of a study from its store, or the page of a model from its folder."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.compared import (
    COMPARED,
    COMPARED_SCHEMA,
    load_comparison,
    load_history,
    measure_comparison,
)
from pbgnet.cli.comparisons import report_comparison
from pbgnet.cli.console import bars, echo
from pbgnet.cli.folder import all_stores, load_reading, save_record
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.label_columns import targets_of
from pbgnet.cli.options import Compare, Debug, Json, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.reproduce import STORE
from pbgnet.cli.tested import load_test_set
from pbgnet.cli.verify import read_as_certified
from pbgnet.cli.workflow import REPORT
from pbgnet.exceptions import OptionError

Out = Annotated[
    Path | None,
    out_option(
        "DIR",
        "Folder of the study, where reproduce has put its store; results/STUDY by default. Stores of other "
        "machines are read as well, if they are put there as runs-2.sqlite and so on; runs-2.jsonl of a "
        "comparison.",
    ),
]

Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Leave out the pictures of the method: the activations, and networks on moons and circles.",
    ),
]


StudyOrModel = Annotated[
    str,
    typer.Argument(
        metavar="STUDY|MODEL",
        help="Name of a study, such as exact, paper, mnist10 or smoke, or a TOML file of your own; or the "
        "folder of a model that train has made.",
    ),
]
DataOfModel = Annotated[
    Path | None,
    typer.Argument(metavar="[DATA]", readable=False, help="With MODEL: the table it was trained on."),
]


@command
def report(
    study: StudyOrModel,
    data: DataOfModel = None,
    out: Out = None,
    plain: Plain = False,
    compare: Compare = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Write the tables and figures of a study, or the page of a model anew.

    For a study, finished or not, one page with all of them; README.md for one that compares methods. For the
    folder of a model and its table the page report.html, with --compare beside what other classifiers give on
    the same rows.
    """
    if (Path(study) / "certificate.json").is_file():
        if data is None or plain or out is not None:
            raise OptionError("The page of a model needs its table, and takes no option but --compare.")
        return _of_model(Path(study), data, compare)
    if data is not None or compare:
        raise OptionError(f"{study} is not the folder of a model, so that there is nothing to compare.")
    from pbgnet.experiments import COMPARISON, load_study, study_kind

    if study_kind(study) == COMPARISON:
        if plain:
            raise OptionError("--plain is for the paper's studies; a comparison has no pictures.")
        return report_comparison(study, out)
    from pbgnet.experiments.report import write_study_report

    name = load_study(study).name
    folder = out or Path("results") / name
    written = write_study_report(all_stores(folder / STORE), folder, [study], illustrations=not plain)

    def show() -> None:
        echo(f"{len(written.files)} files in {folder}. Open {written.page} in a browser.")

    return Result({"study": name, "page": str(written.page), "files": list(map(str, written.files))}, show)


def _of_model(folder: Path, data: Path, compare: bool) -> Result:
    """Write the page of a model anew, and keep what other classifiers give."""
    from pbgnet.certificates import load_certified, round_up
    from pbgnet.report import write_report

    model = load_certified(folder)
    reading = load_reading(folder, model)
    if not reading.targets:
        raise OptionError("The folder does not say which column holds the labels; train has not made it.")
    frame, table = read_as_certified(model, GivenTables.of([data]), reading)
    y = targets_of(frame, reading.targets, data)
    compared = measure_comparison(model, table, y, data) if compare else load_comparison(folder, model)
    tested = load_test_set(folder, model)
    page = write_report(
        folder / REPORT,
        model,
        load_history(folder),
        table,
        y,
        tested=None if tested is None else tested.counts,
        compared=None if compared is None else compared.named,
    )
    if compared is not None:
        save_record(folder / COMPARED, COMPARED_SCHEMA, compared)

    def show() -> None:
        if compared is not None:
            rows = {name.replace("_", " "): claim.value for name, claim in compared.named.items()}
            bars((name, value, round_up(value)) for name, value in rows.items())
        echo(f"Report: {page}")

    return Result({"page": str(page), "alternatives": None if compared is None else compared.payload()}, show)
