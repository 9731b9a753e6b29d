"""Runs that two stores have are paired and compared, and the results say what came out."""

from pathlib import Path

import pytest
from benchmarks.differences import versions

from pbgnet.experiments import Store
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.store import RunRecord

RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.fixture
def stores_of(tmp_path, monkeypatch):
    """Write stores of several versions: {place: (code, day, (error, bound) of each run)}."""
    runs = [RunSpec("ads", training="pretrained", n_samples=10, seed=seed) for seed in range(3)]
    monkeypatch.setattr(versions, "RESULTS", tmp_path)

    def write(places):
        for place, (code, day, found) in places.items():
            monkeypatch.setattr(
                "pbgnet.experiments.studies.store.code_version", lambda code=code: f"0.1+{code}"
            )
            finished = f"2026-01-0{day}"
            with Store(tmp_path / place) as store:
                for run, (error, bound) in zip(runs, found, strict=False):
                    numbers = {"test_error": 9.0, "sampled_test_error": error}
                    numbers |= {"bound": 9.0, "sampled_bound": bound}
                    store.append([RunRecord(run, {"objective": numbers}, finished=finished)])
                picked = {"validation": {"test_error": 0.5, "bound": 1.0}, "bound": {"test_error": 0.6}}
                store.append([RunRecord(RunSpec("adult", training="loss"), picked, finished=finished)])
                store.append([RunRecord(RunSpec("mnist17"), error="too large", finished=finished)])

    return write


OLDER, NEWER = [(0.1, 0.3), (0.2, 0.3), (0.3, 0.4)], [(0.1, 0.31), (0.22, 0.32)]
APART = [
    ("z-older", "a-newer", "exact", 1, 1, "+0.0000", "0.0000", 0, None, None),
    ("z-older", "a-newer", "sampled", 2, 1, "+0.0100 ± 0.0100", "0.0200", 2, "+0.0150 ± 0.0050", "0.0200"),
]


def test_stores_are_compared_by_the_runs_that_both_have(stores_of):
    """The older version is the one that was used first, wherever its store is."""
    stores_of({"a/runs.sqlite": ("a-newer", 2, NEWER), "b/runs-2.sqlite": ("z-older", 1, OLDER)})
    stores_of({"versions/runs.sqlite": ("a-newer", 3, []), "versions/runs-2.sqlite": ("z-older", 4, OLDER)})
    found = versions.store_table()
    assert [row for row in found.rows if row[2] == "sampled"] == APART[1:]


def test_versions_are_compared_with_the_newest_one_only(stores_of):
    stores_of({"versions/runs.sqlite": ("a-newer", 1, NEWER), "other/runs.sqlite": ("b", 1, OLDER)})
    stores_of({f"versions/runs-{k}.sqlite": (code, k, OLDER) for k, code in ((2, "z-older"), (3, "y-older"))})
    found = versions.version_table()
    assert [row for row in found.rows if row[0] == "z-older"] == APART
    assert len(found.rows) == 4


def test_versions_that_draw_the_same_numbers_end_at_the_same():
    """With the exact aggregate all versions agree on one machine, and stores of several belong together."""
    found = versions.version_table()
    exact = [row for row in found.rows if row[2] == "exact"]
    assert len(exact) == 5
    for row in exact:
        assert float(row[6]) <= 0.0001
        assert float(row[9]) <= 0.0001


def test_what_the_results_say_of_stores_is_in_their_table():
    found = versions.store_table()
    text = (RESULTS / "README.md").read_text()
    assert f"{sum(found.column('runs'))} pairs of the same run" in text
    assert max(float(row[6]) for row in found.rows if row[2] == "exact") < 0.0065
    far = []
    for row in found.rows:
        for mean_and_error in (row[5], row[8]):
            if row[2] == "sampled" and mean_and_error is not None and "±" in mean_and_error:
                difference, error = (float(number) for number in mean_and_error.split("±"))
                far.append((abs(difference) > 2 * error, row[0], difference, error))
    ((_, code, difference, error),) = (one for one in far if one[0])
    assert f"Of {len(far)} means over sampled ones, {len(far) - 1} are within" in text
    assert f"larger by {difference:.3f} ± {error:.3f} than" in text.replace("\n", " ")
    assert f"`{code}`, which trained them on the H200" in text.replace("\n", " ")
