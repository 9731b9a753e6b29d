"""``pbgnet report``: tables and figures of a study from its store, or the page of a model from its folder."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.compared import measure_comparison
from pbgnet.cli.comparisons import report_comparison
from pbgnet.cli.console import bars, echo
from pbgnet.cli.folder import all_stores, load_reading
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.label_columns import targets_of
from pbgnet.cli.options import Compare, Debug, Json, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.reproduce import STORE
from pbgnet.cli.verify import read_as_certified
from pbgnet.exceptions import OptionError

Out = Annotated[
    Path | None,
    out_option(
        "DIR",
        "Folder where reproduce stored the results; results/STUDY by default. To include "
        "results from other machines, put them there as runs-2.sqlite and so on "
        "(runs-2.jsonl for a comparison).",
    ),
]

Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Leave out the figures that explain the method: the activations, and networks on "
        "moons and circles.",
    ),
]


StudyOrModel = Annotated[
    str,
    typer.Argument(
        metavar="STUDY|MODEL",
        help="Name of a study, such as exact, paper, mnist10 or smoke, or your own TOML file; or "
        "the folder of a model or certificate.",
    ),
]
DataOfModel = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]", readable=False, help="With MODEL: the table it was trained or certified on."
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="With DATA: column with the labels, if the folder does not record it. Repeatable, "
        "for several labels.",
    ),
]


@command
def report(
    study: StudyOrModel,
    data: DataOfModel = None,
    out: Out = None,
    plain: Plain = False,
    compare: Compare = False,
    target: Target = None,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Write the report of a model or certificate again, or the tables and figures of a study.

    For the folder of a model, or of any certified classifier, this writes report.html. Pass the table as well
    to show which errors were made and which columns matter; --compare adds other classifiers on the same
    rows. For a study, finished or not, this writes one page with all tables and figures, or README.md for a
    study that compares methods.
    """
    if (Path(study) / "certificate.json").is_file():
        if plain or out is not None:
            raise OptionError("The report of a model only accepts --target and --compare.")
        if data is None and compare:
            raise OptionError(
                "--compare fits other classifiers and needs the table: pbgnet report MODEL DATA --compare."
            )
        return _of_model(Path(study), data, target, compare)
    if data is not None or compare or target:
        raise OptionError(f"{study} is not the folder of a model; leave out DATA, --target and --compare.")
    from pbgnet.experiments import COMPARISON, load_study, study_kind

    if study_kind(study) == COMPARISON:
        if plain:
            raise OptionError(
                "--plain only applies to the paper's studies; a comparison has no figures to leave out."
            )
        return report_comparison(study, out)
    from pbgnet.experiments.report import write_study_report

    name = load_study(study).name
    folder = out or Path("results") / name
    written = write_study_report(all_stores(folder / STORE), folder, [study], illustrations=not plain)

    def show() -> None:
        echo(f"{len(written.files)} files in {folder}. Open {written.page} in a browser.")

    return Result({"study": name, "page": str(written.page), "files": list(map(str, written.files))}, show)


def _of_model(folder: Path, data: Path | None, targets: list[str] | None, compare: bool) -> Result:
    """Write the report of a model again, and store the results of other classifiers."""
    from dataclasses import replace

    from pbgnet.certificates import load_certified, round_up
    from pbgnet.files import write_whole
    from pbgnet.report import REPORT, Kept, render_kept

    certified = load_certified(folder)
    kept, table, y = Kept.of_folder(folder, certified), None, None
    if data is not None:
        reading = load_reading(folder, certified).amended(targets)
        if not reading.targets and certified.certificate.majority is not None:
            raise OptionError(
                "The folder does not record which column holds the labels; name it with --target."
            )
        frame, table = read_as_certified(certified, GivenTables.of([data]), reading)
        y = targets_of(frame, reading.targets, data) if reading.targets else None
        if compare:
            kept = replace(kept, compared=measure_comparison(certified, table, y, data))
    page = write_whole(folder / REPORT, render_kept(certified, kept, table, y))
    kept.write(folder)
    compared = kept.compared

    def show() -> None:
        if compared is not None:
            rows = {name.replace("_", " "): claim.value for name, claim in compared.named.items()}
            bars((name, value, round_up(value)) for name, value in rows.items())
        echo(f"Report: {page}")

    return Result({"page": str(page), "alternatives": None if compared is None else compared.payload()}, show)
