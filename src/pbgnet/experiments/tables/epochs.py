"""What picks the epoch of PBGNet_l-bnd: the bound, as the paper says, or the validation loss."""

from pbgnet.experiments.studies import NAMES, StudyResults, select
from pbgnet.experiments.tables.cells import BOUND, COUNT, ERROR, SHORT, Cell
from pbgnet.experiments.tables.paper import paper_numbers
from pbgnet.experiments.tables.studies import chosen
from pbgnet.experiments.tables.table import LEGEND, StudyTable

ALGORITHM = "pbgnet_l_bnd"
PICKS = {"bound": "bound", "validation": "validation loss"}
COLUMNS = (
    ("Best epoch", "epoch", COUNT),
    ("Test error", "test_error", ERROR),
    ("Bound", "bound", BOUND),
    ("KL", "divergence", SHORT),
    ("T", "n_samples", COUNT),
    ("Weight decay", "weight_decay", SHORT),
    ("Learning rate", "learning_rate", SHORT),
)
ABOUT = (
    "For each weight decay, the bound selects one run, and the validation loss chooses "
    "among those. According to the paper's text, the bound also picks the epoch within a "
    "run; the other tables follow that rule."
)


def epoch_table(results: StudyResults) -> StudyTable:
    """Return PBGNet_l-bnd on the first split, with epochs picked in both ways, beside the paper's numbers."""
    split = results.split_seeds[0]
    rows = []
    for dataset in results.study.datasets:
        records = [r for r in results.done if (r.spec.dataset, r.spec.split_seed) == (dataset, split)]
        place = (dataset, ALGORITHM)
        paper = paper_numbers("main_results").get(place, {}) | paper_numbers("selected_models").get(place, {})
        for pick, name_of_pick in PICKS.items():
            selected = select(ALGORITHM, records, pick)
            cells = (chosen(selected, name).with_paper(paper.get(name), form) for _, name, form in COLUMNS)
            rows.append((Cell(dataset), Cell(name_of_pick), *cells))
    columns = ("Data set", "Epoch by", *(title for title, _, _ in COLUMNS))
    study = results.study.name
    title = f"What picks the epoch of {NAMES[ALGORITHM]}, study “{study}”, split {split}"
    return StudyTable(f"{study}-epochs", title, columns, tuple(rows), (LEGEND, ABOUT), n_labels=2)
