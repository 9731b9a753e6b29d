"""``pbgnet demo``: all steps on data that come with scikit-learn."""

import time
from pathlib import Path
from typing import Annotated

from pbgnet.cli.console import echo
from pbgnet.cli.folder import TableReading
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.options import Debug, Json, out_option
from pbgnet.cli.outcome import ExitCode, Result, command
from pbgnet.cli.stages import Stages
from pbgnet.cli.table_writer import write_table
from pbgnet.cli.verify import show_steps, verify_model
from pbgnet.cli.workflow import train_model

TABLE, TARGET, MODEL = "breast_cancer.csv", "diagnosis", "model"


def write_demo_table(path: Path) -> None:
    """Write 569 tumours with 30 measurements each, malignant or benign, as a table."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    frame = data.data.assign(**{TARGET: data.target_names[data.target.to_numpy()]})
    write_table(frame, path, overwrite=True)


@command
def demo(
    out: Annotated[
        Path, out_option("DIR", "Folder for the table and the model. Replaces an earlier demo.")
    ] = Path("pbgnet-demo"),
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Train, certify, save and verify a model on scikit-learn's breast cancer data, in seconds."""
    start = time.perf_counter()
    data, model = out / TABLE, out / MODEL
    out.mkdir(parents=True, exist_ok=True)
    write_demo_table(data)
    reading = TableReading((TARGET,))
    trained = train_model(
        GivenTables.of([data]),
        reading,
        model,
        overwrite=True,
        stages=Stages(shown=not as_json),
        random_state=0,
        verbose=int(not as_json),
    )
    assert trained is not None
    report = verify_model(model, GivenTables.of([data]))
    seconds = time.perf_counter() - start

    def show() -> None:
        echo(f"$ pbgnet train {data} --target {TARGET} --out {model}")
        trained.show()
        echo()
        echo(f"$ pbgnet verify {model} {data}")
        show_steps(report)
        echo()
        echo(f"Done in {seconds:.1f} s. Open {trained.report} in a browser.")

    payload = {
        **trained.payload(),
        "data": str(data),
        "seconds": round(seconds, 3),
        "verified": report.ok,
    }
    return Result(payload, show, ExitCode.DONE if report.ok else ExitCode.NOT_VERIFIED)
