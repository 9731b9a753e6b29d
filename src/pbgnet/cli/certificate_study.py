"""What ``pbgnet reproduce certificates`` does: certify the paper's data by every route, side by side."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from pbgnet.cli.console import echo
from pbgnet.cli.outcome import Result
from pbgnet.files import write_whole

STUDY = "certificates"
PAGE = "certificates.md"


def reproduce_certificates(
    datasets: Sequence[str] | None,
    out: Path | None,
    data_dir: Path | None,
    splits: int | None,
    hidden: Sequence[int] | None,
) -> Result:
    """Certify splits of the paper's data, and write one page about all of them into a folder."""
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
        for seed in range(splits or 1):
            results.append(certify_split(name, seed, settings, None if data_dir is None else str(data_dir)))
            typer.echo(f"{name}, split {seed}: {time.perf_counter() - start:.0f} s", err=True)
    page = certificate_page(results, settings, Circumstances.now(time.perf_counter() - start))
    path = (out or Path("results")) / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)

    def show() -> None:
        for line in page.splitlines():
            echo(line)
        echo(f"Written to {path}")

    payload = {"file": str(path), "certificates": [dataclasses.asdict(result) for result in results]}
    return Result(payload, show)
