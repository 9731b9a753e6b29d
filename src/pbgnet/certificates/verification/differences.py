"""How a table differs from the certified one, in words: columns, rows, cells or labels.

Each function is only called after a fingerprint was found to differ. It names the change if what is stored
allows it, and otherwise says what may explain it.
"""

import difflib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data import fingerprint_labels, target_values
from pbgnet.certificates.verification.cases import Case
from pbgnet.exceptions import PBGNetError
from pbgnet.preprocessing import column_names, count_rows

NUMBERING = "counting from 1, without the header"

MOST_NAMED = 5
"""So many rows or columns are named; of more, the first ones and their number."""

# Tables with one label changed are compared as long as that means hashing at most so many labels.
MOST_LABELS_TRIED = 4_000_000


def differing_columns(case: Case) -> str:
    """Say how the names of the columns differ from those of the certified table."""
    found, stated = column_names(case.X), case.certified_columns
    if found is None:
        return "The certified table has named columns, and this one has none. Pass a table with column names."
    if stated is None:
        return "The certified table has no column names, and this one has. Pass its values as an array."
    return _named_columns(stated, found)


def _named_columns(stated: Sequence[str], found: Sequence[str]) -> str:
    missing = [name for name in stated if name not in found]
    added = [name for name in found if name not in stated]
    if not missing and not added:
        place = next((k for k, name in enumerate(stated) if k >= len(found) or found[k] != name), 0)
        return (
            f"The columns are in another order: column {place + 1} is {found[place]!r}, and was "
            f"{stated[place]!r}. Put them back in the original order."
        )
    sentences = []
    for name in missing[:MOST_NAMED]:
        near = difflib.get_close_matches(name, added, n=1, cutoff=0.5)
        alike = near[0] if near else added[0] if len(missing) == len(added) == 1 else None
        told = f"; was it renamed to {alike!r}?" if alike is not None else "."
        sentences.append(f"Column {name!r} is missing{told}")
    if len(missing) > MOST_NAMED:
        sentences.append(f"{len(missing) - MOST_NAMED} more columns are missing.")
    if not missing:
        sentences.append(f"The table has columns that were not certified: {_some(list(map(repr, added)))}.")
    if len(missing) == len(stated):
        listed = _some(list(map(repr, stated)))
        sentences = [
            f"None of the certified columns ({listed}) is in this table: it is another table, or its header "
            "is missing or was read with another separator."
        ]
    return " ".join(sentences)


def differing_count(case: Case) -> str:
    """Say which rows were added or removed."""
    n, stated = count_rows(case.X), case.certificate.n_rows_total
    if case.y is not None and case.n_rows != n:
        return f"There are {n} rows but {case.n_rows} labels. Pass one label for each row."
    change = f"{_rows(abs(n - stated))} {'missing' if n < stated else 'too many'}"
    stored = case.certified_hashes
    missing, added = _unmatched(stored, case.facts.exact), _unmatched(case.facts.exact, stored)
    sentences = [f"The table has {change}."]
    if missing.size >= stored.size / 2:
        return f"{sentences[0]} {_of_another_table(stored.size - missing.size, stored.size)}"
    if missing.size:
        verb = "is" if missing.size == 1 else "are"
        sentences.append(f"{_numbered(missing)} of the certified table ({NUMBERING}) {verb} not in it.")
    for row in added[:MOST_NAMED].tolist():
        same = np.flatnonzero(stored == case.facts.exact[row])
        told = f"repeats row {same[0] + 1}" if same.size else "was added"
        sentences.append(f"Row {row + 1} of this table {told}.")
    if added.size > MOST_NAMED:
        sentences.append(f"{added.size - MOST_NAMED} more rows were added or repeated.")
    return " ".join(sentences)


def differing_rows(case: Case) -> str:
    """Say which rows have other values, or that they are in another order, or written differently."""
    stored, found = case.certified_hashes, case.facts.exact
    if stored.shape != found.shape:
        return f"The table has {_rows(found.size)}, and the certified one has {_rows(stored.size)}."
    differ = np.flatnonzero(stored != found)
    if not differ.size:
        return (
            "Every row holds the same values, but some cells are written or stored differently, for example "
            "1 and 1.0, or a number and the same number as text. Use the file exactly as it was certified, "
            "not one that another program has saved again."
        )
    if np.array_equal(np.sort(stored), np.sort(found)):
        return (
            f"The table holds the same rows in another order. {_numbered(differ)} ({NUMBERING}) moved. Put "
            "them back in the original order."
        )
    if differ.size > stored.size / 2:
        return _of_another_table(stored.size - _unmatched(stored, found).size, stored.size)
    verb, them = ("differs", "it") if differ.size == 1 else ("differ", "them")
    rest = stored.size - differ.size
    return (
        f"{_numbered(differ)} ({NUMBERING}) {verb} from the certified table; the other {_rows(rest)} "
        f"{'is' if rest == 1 else 'are'} as certified. Compare {them} with the original."
    )


def differing_labels(case: Case) -> str:
    """Say which label differs: one that is unknown, or the one whose change explains the fingerprint."""
    try:
        labels = target_values(case.y)
    except PBGNetError as error:
        return f"The labels cannot be read: {error}"
    classes = case.known_classes
    if classes is None:
        return (
            "A label differs, or the labels are in another order than the rows, or the columns of the labels "
            "are in another order. Compare them with the original."
        )
    known = set(classes.labels)
    values = labels.tolist()
    unknown = [row for row, label in enumerate(values) if label not in known]
    if unknown:
        row = unknown[0]
        count = "" if len(unknown) == 1 else f", and so are the labels of {_rows(len(unknown) - 1)} after it"
        return (
            f"The label of row {row + 1} ({NUMBERING}) is {values[row]!r}, which is not one of the certified "
            f"classes ({_some(list(map(repr, classes.labels)))}){count}. Check that column, and how it is "
            "written."
        )
    if len(labels) ** 2 * (len(known) - 1) <= MOST_LABELS_TRIED:
        for row, label in _single_changes(labels, classes.labels):
            if fingerprint_labels(_with(labels, row, label)) == case.certificate.fingerprints.labels:
                return (
                    f"The label of row {row + 1} ({NUMBERING}) is {values[row]!r}, and was {label!r} when "
                    "the certificate was made. All other labels are as certified."
                )
    return (
        "More than one label differs, or the labels are in another order than the rows, or are stored as "
        "another type (text or number). Compare them with the original."
    )


def _single_changes(labels: NDArray[np.generic], classes: Sequence[object]) -> Iterator[tuple[int, object]]:
    for row, label in enumerate(labels.tolist()):
        for other in classes:
            if other != label:
                yield row, other


def _with(labels: NDArray[np.generic], row: int, label: object) -> NDArray[np.generic]:
    changed = labels.astype(object)
    changed[row] = label
    return changed if labels.dtype.kind == "O" else np.asarray(changed.tolist())


def _unmatched(these: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the indices of hashes that the others have fewer of; of equal ones, the last are unmatched."""
    order = np.argsort(these, kind="stable")
    ordered, pool = these[order], np.sort(others)
    rank = np.arange(ordered.size) - np.searchsorted(ordered, ordered)
    there = np.searchsorted(pool, ordered, side="right") - np.searchsorted(pool, ordered)
    return np.sort(order[rank >= there])


def _of_another_table(n_found: int, n_rows: int) -> str:
    return (
        f"{f'Only {n_found}' if n_found else 'None'} of the {n_rows} rows of the certified "
        f"table {'is' if n_found < 2 else 'are'} in this one. Either it is another table, or a column was "
        "changed throughout, or its cells are read differently (separator, decimal comma, encoding, column "
        "types)."
    )


def _numbered(rows: NDArray[np.int64]) -> str:
    if rows.size == 1:
        return f"Row {rows[0] + 1}"
    return f"Rows {_some([str(row + 1) for row in rows.tolist()])}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more
