"""Reading stores: which runs count, whose version, what is missing."""

import math
from dataclasses import replace

import pytest

from pbgnet.exceptions import StoreError
from pbgnet.experiments import load_study
from pbgnet.experiments.runs import RunSpec, code_version
from pbgnet.experiments.studies.results import read_results, spread_of

from .conftest import record_of


def test_a_spread_is_a_mean_and_an_unbiased_deviation():
    spread = spread_of([0.1, 0.2, None, 0.6])
    assert spread.count == 3
    assert spread.mean == pytest.approx(0.3)
    assert spread.deviation == pytest.approx(math.sqrt((0.04 + 0.01 + 0.09) / 2))
    assert spread_of([0.5]).deviation is None
    assert spread_of([None]) is None


def test_a_number_that_is_none_is_not_averaged_away():
    assert math.isnan(spread_of([0.1, math.nan]).mean)


def test_runs_of_other_studies_do_not_count(put):
    runs = load_study("smoke").runs
    stranger = RunSpec("breast", split_seed=77)
    (results,) = read_results(put([record_of(runs[0]), record_of(stranger)]), ["smoke"])
    assert [record.spec for record in results.records] == [runs[0]]
    assert results.n_missing == len(runs) - 1
    assert not results.complete
    assert results.code_versions == (code_version(),)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_results_in_one_store_outdo_a_failure_in_another(put, order):
    spec = load_study("smoke").runs[0]
    paths = [
        put([record_of(spec, error="boom")], "failed.sqlite"),
        put([record_of(spec)], "done.sqlite"),
    ]
    (results,) = read_results([paths[k] for k in order], ["smoke"])
    assert len(results.done) == 1
    assert results.failed == []


def test_without_names_every_study_with_runs_of_its_own_is_read(fill):
    path = fill("variance", keep=lambda k, spec: spec.dataset == "ads")
    shared = set(load_study("variance").runs) & set(load_study("paper").runs)
    assert shared  # or this test says nothing
    assert [results.study.name for results in read_results(path)] == ["variance"]


def test_progress_counts_the_runs_an_algorithm_selects_among(fill):
    path = fill("smoke", keep=lambda k, spec: spec.split_seed == 0 and spec.training != "mlp")
    (results,) = read_results(path, ["smoke"])
    assert results.progress("breast", "pbgnet", [0]) == (8, 8)  # 2 depths x 2 T x 2 rates
    assert results.progress("breast", "pbgnet") == (8, 16)
    assert results.progress("breast", "mlp", [0]) == (0, 8)  # 2 depths x 2 decays x 2 rates


def test_a_part_of_the_results_selects_among_its_own_runs(fill):
    (results,) = read_results(fill("smoke", failed=lambda k, spec: k == 0), ["smoke"])
    deep = results.study.narrowed(["breast"], ["pbgnet"]).where({"hidden_layers": ["2"]})
    part = results.part(deep)
    assert [record.spec for record in part.records] == list(deep.runs)
    assert len(part.records) < len(results.records)
    assert part.complete
    assert not results.complete
    assert {key[:2] for key in part.selected} == {("breast", "pbgnet")}
    places = [key for key in results.selected if key[:2] == ("breast", "pbgnet")]
    assert 1 in {results.selected[key].candidate.spec.hidden_layers for key in places}
    assert {selected.candidate.spec.hidden_layers for selected in part.selected.values()} == {2}


def test_no_store_is_a_typed_error(tmp_path):
    with pytest.raises(StoreError, match="run the study first"):
        read_results(tmp_path / "none.sqlite", ["smoke"])


def test_the_same_run_with_another_setting_is_another_run(put):
    spec = replace(load_study("smoke").runs[0], max_epochs=7)
    (results,) = read_results(put([record_of(spec)]), ["smoke"])
    assert results.records == ()
