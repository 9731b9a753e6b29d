"""The large tables that benchmarks read: the same rows however many are asked for, labels by the rule."""

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")

from benchmarks import scale_data  # noqa: E402


@pytest.fixture(scope="module")
def small_groups():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale_data, "GROUP_ROWS", 2000)
        patch.setattr(scale_data, "GROUPS_PER_FILE", 2)
        yield


@pytest.mark.usefixtures("small_groups")
def test_a_shorter_table_is_the_beginning_of_a_longer_one(tmp_path):
    long = scale_data.write_table(tmp_path / "long", 5500, 30)
    assert [pq.ParquetFile(file).num_row_groups for file in long] == [2, 1]
    short = scale_data.write_table(tmp_path / "short", 3000, 30)
    whole = pq.read_table(long)
    assert whole.shape == (5500, 31)
    assert whole.slice(0, 3000).equals(pq.read_table(short))
    assert not whole.slice(2000, 1000).equals(whole.slice(0, 1000))


@pytest.mark.usefixtures("small_groups")
def test_labels_follow_the_rule_but_for_the_noise(tmp_path):
    table = pq.read_table(scale_data.write_table(tmp_path, 6000, 10)).combine_chunks()
    columns = {name: table[name].chunk(0) for name in table.column_names}
    truth = scale_data.true_labels(columns)
    assert 0.3 < truth.mean() < 0.7
    wrong = np.mean(truth != (np.asarray(columns["label"]) == "yes"))
    assert abs(wrong - scale_data.LABEL_NOISE) < 0.012
