"""``pbgnet reproduce``: run a study, or resume it."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypedDict

import typer

from pbgnet.cli.certificate_study import STUDY as CERTIFICATES
from pbgnet.cli.certificate_study import reproduce_certificates
from pbgnet.cli.comparisons import reproduce_comparison
from pbgnet.cli.console import echo, pairs
from pbgnet.cli.folder import all_stores
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
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="For the paper's studies: run only those with this value, such as n_samples=1000 or "
        "architecture=2x50. Repeatable; several values of one name are alternatives.",
    ),
]
Add = Annotated[
    bool,
    typer.Option(
        "--add",
        help="For the paper's studies: keep runs that other versions of pbgnet have stored in the folder, "
        "and add only those that are missing, in a store of its own.",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        min=0,
        help="For the paper's studies: begin no more runs after this time; the cheapest ones come first.",
    ),
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
    where: Where = None,
    add: Add = False,
    minutes: Minutes = None,
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
    of_grids = bool(workers or where or add or minutes is not None or retry_failed)
    if study == CERTIFICATES:
        if algorithms or engine != "local" or address or of_grids or small or device != "auto":
            raise OptionError(
                f"The study {CERTIFICATES} only accepts --datasets, --splits, --hidden, --data-dir and --out."
            )
        return reproduce_certificates(datasets, out, data_dir, splits, hidden)
    if splits is not None or hidden:
        raise OptionError(f"--splits and --hidden only apply to the study {CERTIFICATES}.")
    from pbgnet.experiments import COMPARISON, load_study, study_kind

    if study_kind(study) == COMPARISON:
        if datasets or engine != "local" or address or of_grids:
            raise OptionError(
                f"{study} compares methods on one data set, one after the other: it only accepts "
                "--algorithms, --small, --device, --data-dir and --out."
            )
        return reproduce_comparison(study, algorithms, out, data_dir, _place(device), small, quiet=as_json)
    if small:
        raise OptionError("--small only applies to studies that compare methods, such as mnist10.")
    if minutes is not None and engine != "local":
        raise OptionError("--minutes requires --engine local: a cluster is given all runs at once.")
    chosen = load_study(study).narrowed(datasets or None, algorithms or None).where(_wanted(where or ()))
    folder = out or Path("results") / chosen.name
    trainer = _engine(engine, address, device, workers)
    limits = _Limits(minutes=math.inf if minutes is None else minutes, retry_failed=retry_failed)
    course = _Course(add, limits)
    return _reproduce_grid(study, chosen, folder, data_dir, trainer, course, quiet=as_json)


def _wanted(conditions: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each name."""
    wanted: dict[str, list[str]] = {}
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals:
            raise OptionError(f"--where {condition}: write a name and a value, such as n_samples=1000.")
        wanted.setdefault(name.strip(), []).append(value.strip())
    return wanted


class _Course(NamedTuple):
    """How a study is run: beside the stores of other versions, and within which limits."""

    add: bool
    limits: "_Limits"


class _Limits(TypedDict):
    """For how long, and whether runs that failed are tried again; arguments of `run_study`."""

    minutes: float
    retry_failed: bool


def _reproduce_grid(
    study: str,
    chosen: "Study",
    folder: Path,
    data_dir: Path | None,
    trainer: "Engine",
    course: _Course,
    *,
    quiet: bool,
) -> Result:
    """Run the part of a study's grid that is not stored yet."""
    from pbgnet.experiments import PaperRows, Store, SweepState, run_study

    start = time.perf_counter()
    source = PaperRows(None if data_dir is None else str(data_dir))
    place, left = _what_is_left(chosen, folder) if course.add else (folder / STORE, chosen)
    n_kept = len(chosen.runs) - len(left.runs)
    state = SweepState(n_runs=0, n_done=0, n_failed=0, work_done=1.0)
    if left.runs:
        with Store(place) as store, _progress(len(left.runs), quiet=quiet) as progress:
            state = run_study(left, store, source, trainer, progress, **course.limits)
    n_done, n_runs = state.n_done + n_kept, state.n_runs + n_kept
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
                ("runs", f"{n_done} of {n_runs} done, {state.n_failed} failed"),
                ("time", f"{seconds:.0f} s"),
                ("store", str(place)),
            )
        )
        echo(f"Next: pbgnet report {study} --out {folder}")

    payload = {
        "study": chosen.name,
        "runs": n_runs,
        "done": n_done,
        "failed": state.n_failed,
        "seconds": round(seconds, 3),
        "store": str(place),
    }
    complete = n_done == n_runs
    return Result(payload, show, ExitCode.DONE if complete else ExitCode.NOT_VERIFIED)


def _what_is_left(chosen: "Study", folder: Path) -> "tuple[Path, Study]":
    """Return the store of this version in a folder, and the part of a study that no other store has."""
    from pbgnet.experiments import place_to_add, runs_in

    stores = all_stores(folder / STORE)
    place = place_to_add(stores)
    return place, chosen.without(runs_in(path for path in stores if path != place and path.is_file()))


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
