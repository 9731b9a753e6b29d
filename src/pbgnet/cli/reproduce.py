"""``pbgnet reproduce``: run a study, or resume it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pbgnet.cli.certificate_study import STUDY as CERTIFICATES
from pbgnet.cli.certificate_study import reproduce_certificates
from pbgnet.cli.comparisons import reproduce_comparison
from pbgnet.cli.console import echo, pairs
from pbgnet.cli.options import DataDir, Debug, Json, out_option
from pbgnet.cli.outcome import ExitCode, Result, command, note
from pbgnet.exceptions import OptionError

if TYPE_CHECKING:
    from pbgnet.experiments import Engine, Study, SweepState

STORE = "runs.sqlite"

StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Name of a study, such as exact, paper, mnist10, certificates or smoke, or your own TOML file.",
    ),
]
Chosen = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Run only this one. Repeatable.")]

EngineName = Annotated[
    str,
    typer.Option(
        metavar="local|ray", help="Where to train: on this machine (local) or on a Ray cluster (ray)."
    ),
]
Batches = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of batches to train at the same time.")
]
Small = Annotated[
    bool,
    typer.Option("--small", help="For studies that compare methods: fewer rows, epochs and neurons."),
]
Splits = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="For the study certificates: number of random splits of the rows."),
]
Hidden = Annotated[
    list[int] | None,
    typer.Option(
        metavar="N", min=1, help="For the study certificates: neurons in each hidden layer. Repeatable."
    ),
]


@command
def reproduce(
    study: StudyName,
    datasets: Chosen = None,
    algorithms: Chosen = None,
    out: Annotated[
        Path | None, out_option("DIR", "Folder for the results; results/STUDY by default.")
    ] = None,
    data_dir: DataDir = None,
    engine: EngineName = "local",
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Address of a Ray cluster.")
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Device to train on: auto, cpu or cuda.")
    ] = "auto",
    workers: Batches = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try runs that failed before two more times.")
    ] = False,
    small: Small = False,
    splits: Splits = None,
    hidden: Hidden = None,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Run one of the paper's studies, or a further one; finished runs are not repeated.

    You can stop it at any time and start it again: it resumes where it stopped. Start one of the paper's
    studies several times, and the processes share the work. The study certificates certifies the paper's data
    sets in every possible way and writes one page that compares the bounds.
    """
    if study == CERTIFICATES:
        if algorithms or engine != "local" or address or workers or retry_failed or small or device != "auto":
            raise OptionError(
                f"The study {CERTIFICATES} only accepts --datasets, --splits, --hidden, --data-dir and --out."
            )
        return reproduce_certificates(datasets, out, data_dir, splits, hidden)
    if splits is not None or hidden:
        raise OptionError(f"--splits and --hidden only apply to the study {CERTIFICATES}.")
    from pbgnet.experiments import COMPARISON, load_study, study_kind

    if study_kind(study) == COMPARISON:
        if datasets or engine != "local" or address or workers or retry_failed:
            raise OptionError(
                f"{study} compares methods on one data set, one after the other: it only accepts "
                "--algorithms, --small, --device, --data-dir and --out."
            )
        return reproduce_comparison(study, algorithms, out, data_dir, _place(device), small, quiet=as_json)
    if small:
        raise OptionError("--small only applies to studies that compare methods, such as mnist10.")
    chosen = load_study(study).narrowed(datasets or None, algorithms or None)
    folder = out or Path("results") / chosen.name
    trainer = _engine(engine, address, device, workers)
    return _reproduce_grid(study, chosen, folder, data_dir, trainer, retry_failed=retry_failed, quiet=as_json)


def _reproduce_grid(
    study: str,
    chosen: "Study",
    folder: Path,
    data_dir: Path | None,
    trainer: "Engine",
    *,
    retry_failed: bool,
    quiet: bool,
) -> Result:
    """Run the part of a study's grid that is not stored yet."""
    from pbgnet.experiments import PaperRows, Store, run_study

    start = time.perf_counter()
    source = PaperRows(None if data_dir is None else str(data_dir))
    with Store(folder / STORE) as store, _progress(len(chosen.runs), quiet=quiet) as progress:
        state = run_study(chosen, store, source, trainer, progress, retry_failed=retry_failed)
    if state.n_failed:
        note(
            f"{state.n_failed} runs failed twice; pbgnet report {study} shows why, and "
            "--retry-failed tries them again."
        )
    seconds = time.perf_counter() - start

    def show() -> None:
        pairs(
            (
                ("study", f"{chosen.name}: {chosen.summary}"),
                ("runs", f"{state.n_done} of {state.n_runs} done, {state.n_failed} failed"),
                ("time", f"{seconds:.0f} s"),
                ("store", str(folder / STORE)),
            )
        )
        echo(f"Next: pbgnet report {study} --out {folder}")

    payload = {
        "study": chosen.name,
        "runs": state.n_runs,
        "done": state.n_done,
        "failed": state.n_failed,
        "seconds": round(seconds, 3),
        "store": str(folder / STORE),
    }
    complete = state.n_done == state.n_runs
    return Result(payload, show, ExitCode.DONE if complete else ExitCode.NOT_VERIFIED)


def _engine(name: str, address: str | None, device: str, workers: int | None) -> "Engine":
    from pbgnet.experiments import LocalEngine, RayEngine
    from pbgnet.validation import check_name

    check_name("engine", name, ["local", "ray"])
    place = _place(device, elsewhere=name == "ray")
    if name == "ray":
        return RayEngine(address, place)
    if address is not None:
        raise OptionError("--address requires --engine ray.")
    return LocalEngine(place, workers)


def _place(device: str, *, elsewhere: bool = False) -> str:
    """Return the device of this name; a device of another machine need not exist here."""
    import torch

    place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    if place != "cpu" and not (place.startswith("cuda") and (elsewhere or torch.cuda.is_available())):
        raise OptionError(f"The device {device!r} is not available; choose auto or cpu.")
    return place


@contextmanager
def _progress(n_runs: int, *, quiet: bool) -> "Iterator[Callable[[SweepState], None]]":
    """Show progress and the remaining time, only on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(f"0 of {n_runs} runs", total=1.0)

        def show(state: "SweepState") -> None:
            failed = f", {state.n_failed} failed" if state.n_failed else ""
            text = f"{state.n_done} of {state.n_runs} runs{failed}"
            bar.update(task, completed=state.work_done, description=text)

        yield show
