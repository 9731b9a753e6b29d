"""The reports in results/ are those of the stores beside them, in today's words."""

from pathlib import Path

import pytest

from pbgnet.cli.folder import all_stores
from pbgnet.experiments.report import write_study_report

pytest.importorskip("matplotlib")

RESULTS = Path(__file__).resolve().parents[2] / "results"
STUDIES = ("exact", "paper", "variance", "variance-exact", "sample-size", "training-size")


@pytest.mark.parametrize("study", STUDIES)
def test_stored_tables_are_those_that_the_stores_give(study, tmp_path):
    stores = all_stores(RESULTS / study / "runs.sqlite")
    write_study_report(stores, tmp_path, [study], illustrations=False)
    stored = sorted((RESULTS / study / "tables").iterdir())
    assert [path.name for path in stored] == sorted(path.name for path in (tmp_path / "tables").iterdir())
    for path in stored:
        assert (tmp_path / "tables" / path.name).read_text() == path.read_text(), path.name


@pytest.mark.parametrize("study", STUDIES)
def test_the_list_of_results_counts_the_runs_of_the_store(study):
    """How many runs are done stands in results/README.md as in the table of the report."""
    (row,) = (
        line
        for line in (RESULTS / study / "tables" / "run-summary.md").read_text().splitlines()
        if line.startswith(f"| {study} ")
    )
    n_runs, n_done = (cell.strip().replace(",", "") for cell in row.split("|")[2:4])
    count = f"all {n_runs}" if n_runs == n_done else f"{n_done} of {n_runs}"
    (mine,) = (
        line for line in (RESULTS / "README.md").read_text().splitlines() if line.startswith(f"| `{study}`: ")
    )
    assert f"| {count} |" in mine
