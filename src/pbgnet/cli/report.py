"""``pbgnet report``: tables and figures of a study, from its store alone."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.console import echo
from pbgnet.cli.options import Debug, Json, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.reproduce import STORE, StudyName

Out = Annotated[
    Path | None,
    out_option(
        "DIR",
        "Folder of the study, where reproduce has put its store; results/STUDY by default. Stores of other "
        "machines are read as well, if they are put there as runs-2.sqlite and so on.",
    ),
]

Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Leave out the pictures of the method: the activations, and networks on moons and circles.",
    ),
]


@command
def report(
    study: StudyName, out: Out = None, plain: Plain = False, as_json: Json = False, debug: Debug = False
) -> Result:
    """Write the tables and figures of a study, finished or not, and one page with all of them."""
    from pbgnet.experiments import load_study
    from pbgnet.experiments.report import write_study_report

    name = load_study(study).name
    folder = out or Path("results") / name
    written = write_study_report(_stores(folder), folder, [study], illustrations=not plain)

    def show() -> None:
        echo(f"{len(written.files)} files in {folder}. Open {written.page} in a browser.")

    return Result({"study": name, "page": str(written.page), "files": list(map(str, written.files))}, show)


def _stores(folder: Path) -> list[Path]:
    """Return all stores in a folder; of a run in several of them, the last by name counts."""
    first = folder / STORE
    others = folder.glob(f"{first.stem}-*{first.suffix}")
    return [first, *sorted(others)]
