"""``pbgnet certificates``: all routes to a certificate, on the paper's data."""

import dataclasses
import time
from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.console import echo
from pbgnet.cli.options import DataDir, Debug, Json, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.files import write_whole


@command
def certificates(
    datasets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this one. Repeatable. The paper's six by default."),
    ] = None,
    out: Annotated[Path, out_option("FILE", "Where to write the page, in Markdown.")] = Path("results")
    / "certificates.md",
    data_dir: DataDir = None,
    splits: Annotated[
        int, typer.Option(metavar="N", min=1, help="Random splits of the rows; means are shown.")
    ] = 1,
    hidden: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="Neurons of a hidden layer. Repeatable.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Certify the paper's data by every route and write them beside each other.

    A prior is trained until it is good on half of the training rows, and the other half is certified.
    """
    from pbgnet.datasets import PAPER_DATASETS
    from pbgnet.experiments.certificates import (
        CertificateSettings,
        Circumstances,
        certificate_page,
        certify_split,
    )

    settings = CertificateSettings()
    if hidden:
        settings = dataclasses.replace(settings, hidden_layer_sizes=tuple(hidden))
    start = time.perf_counter()
    results = []
    for name in datasets or PAPER_DATASETS:
        for seed in range(splits):
            results.append(certify_split(name, seed, settings, None if data_dir is None else str(data_dir)))
            typer.echo(f"{name}, split {seed}: {time.perf_counter() - start:.0f} s", err=True)
    page = certificate_page(results, settings, Circumstances.now(time.perf_counter() - start))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page)

    def show() -> None:
        for line in page.splitlines():
            echo(line)
        echo(f"Written to {out}")

    payload = {"file": str(out), "certificates": [dataclasses.asdict(result) for result in results]}
    return Result(payload, show)
