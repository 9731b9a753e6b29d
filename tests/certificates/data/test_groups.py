"""Groups of rows: read from a column or given row by row, and told apart."""

import numpy as np
import pandas as pd
import pytest
import torch

from pbgnet.certificates.data import Groups, group_names, read_groups
from pbgnet.certificates.data.groups import MOST_GROUPS, GroupSize, GroupsRecord
from pbgnet.exceptions import DamagedFileError, DomainError, OptionError, PBGNetError, ShapeError

TABLE = pd.DataFrame(
    {
        "sex": ["f", None, "m", "f", "missing"],
        "age": [30.0, np.nan, 4.5, 30.0, 7.0],
        "old": [True, False, True, True, False],
        "band": pd.Categorical(["a", "b", "a", None, "c"]),
    }
)


@pytest.mark.parametrize(
    ("column", "names", "places"),
    [
        ("sex", ("'f'", "'m'", "'missing'", "missing"), [0, 3, 1, 0, 2]),
        ("age", ("4.5", "7", "30", "missing"), [2, 3, 0, 2, 1]),
        ("old", ("'False'", "'True'"), [1, 0, 1, 1, 0]),
        ("band", ("'a'", "'b'", "'c'", "missing"), [0, 1, 0, 3, 2]),
    ],
)
def test_columns_are_read_like_the_values_given(column, names, places):
    by_column = Groups.of(column, TABLE)
    assert (by_column.names, by_column.places.tolist(), by_column.column) == (names, places, column)
    for given in (TABLE[column], TABLE[column].tolist(), TABLE[[column]].to_numpy()):
        by_rows = Groups.of(given, TABLE)
        assert (by_rows.names, by_rows.places.tolist(), by_rows.column) == (names, places, None)


def test_the_record_counts_certified_rows_and_knows_the_assignment():
    groups = Groups.of("sex", TABLE)
    record = groups.record(np.array([0, 2, 3]))
    assert record.sizes[:2] == (GroupSize("'f'", 2), GroupSize("'m'", 1))
    assert record.claimed == ("'f'", "'m'") == groups.take(np.array([0, 2, 3])).present
    turned = Groups.of(TABLE["sex"][::-1].tolist(), TABLE).record(np.array([0, 2, 3]))
    assert turned.assignment != record.assignment
    assert GroupsRecord.from_dict(record.to_dict()) == record


def test_no_groups_are_none():
    assert read_groups(None, TABLE) is None


def test_bad_groups_are_named():
    with pytest.raises(ShapeError, match="no column 'nosuch' to read the groups from: its columns are 'sex'"):
        Groups.of("nosuch", TABLE)
    with pytest.raises(ShapeError, match="have no names"):
        Groups.of("sex", np.zeros((3, 1)))
    with pytest.raises(ShapeError, match="one group for each of the 5 rows"):
        Groups.of(["a", "b"], TABLE)
    many = np.zeros((MOST_GROUPS + 1, 1))
    assert len(Groups.of(np.arange(MOST_GROUPS + 1) % MOST_GROUPS, many).names) == MOST_GROUPS
    with pytest.raises(OptionError, match=f"There are {MOST_GROUPS + 1} groups, .* at most {MOST_GROUPS}"):
        Groups.of(np.arange(MOST_GROUPS + 1), many)


def test_a_record_that_nobody_wrote_is_refused():
    record = Groups.of("sex", TABLE).record(np.arange(5))
    with pytest.raises(DomainError, match="twice"):
        GroupsRecord(None, (record.sizes[0], record.sizes[0]), record.assignment)
    for key, value in (("assignment", "00"), ("sizes", [{"name": "'f'", "n": -1}]), ("column", 3)):
        with pytest.raises(DamagedFileError, match=key):
            GroupsRecord.from_dict({**record.to_dict(), key: value})


def test_what_cannot_be_read_has_a_typed_error():
    with pytest.raises(PBGNetError, match="groups"):
        read_groups(torch.ones(2, requires_grad=True), [[1.0], [2.0]])


def test_new_rows_may_have_more_groups_than_a_certificate_bounds():
    values = [*map(float, range(MOST_GROUPS + 1)), 1e300]
    assert group_names(values, len(values)).tolist() == [*map(str, range(MOST_GROUPS + 1)), "1e+300"]
