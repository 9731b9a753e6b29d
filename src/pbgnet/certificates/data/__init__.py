"""The user's rows: labels, fingerprints, the split, and the table prepared once for all that follows."""

from pbgnet.certificates.data.duplicates import (
    DUPLICATES_ADVICE,
    check_apart,
    count_duplicates,
    note_on_near_copies,
    single_columns,
)
from pbgnet.certificates.data.fingerprints import (
    DataFingerprints,
    KeptRows,
    describe_data,
    fingerprint_array,
    fingerprint_columns,
    fingerprint_json,
    fingerprint_labels,
    fingerprint_rows,
    fingerprint_split,
    fingerprint_tensors,
    unchanged_data,
)
from pbgnet.certificates.data.fitting_sample import rows_to_fit
from pbgnet.certificates.data.groups import Groups, GroupSize, GroupsRecord, group_names, read_groups
from pbgnet.certificates.data.indicators import (
    code_for,
    has_several_labels,
    indicator_values,
    label_names,
    target_values,
)
from pbgnet.certificates.data.inputs import Inputs
from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.labels import Classes, Label, distinct_labels, label_values
from pbgnet.certificates.data.prepared import PreparedTable
from pbgnet.certificates.data.row_hashes import row_fingerprints
from pbgnet.certificates.data.split import Split, draw_prior_rows
from pbgnet.certificates.data.split_rules import SplitRecord, by_hash_of, earliest_by
from pbgnet.certificates.data.table_facts import TableFacts, fingerprint_features

__all__ = [
    "DUPLICATES_ADVICE",
    "Classes",
    "DataFingerprints",
    "GroupSize",
    "Groups",
    "GroupsRecord",
    "Inputs",
    "KeptRows",
    "Label",
    "LabelledRows",
    "PreparedTable",
    "Split",
    "SplitRecord",
    "TableFacts",
    "by_hash_of",
    "check_apart",
    "code_for",
    "count_duplicates",
    "describe_data",
    "distinct_labels",
    "draw_prior_rows",
    "earliest_by",
    "fingerprint_array",
    "fingerprint_columns",
    "fingerprint_features",
    "fingerprint_json",
    "fingerprint_labels",
    "fingerprint_rows",
    "fingerprint_split",
    "fingerprint_tensors",
    "group_names",
    "has_several_labels",
    "indicator_values",
    "label_names",
    "label_values",
    "note_on_near_copies",
    "read_groups",
    "row_fingerprints",
    "rows_to_fit",
    "single_columns",
    "target_values",
    "unchanged_data",
]
