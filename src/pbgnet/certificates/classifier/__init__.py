"""Any classifier, known by what it answers: certified by a count, by losses, or against a certified vote."""

from pbgnet.certificates.classifier.asking import AnswerColumn, ask
from pbgnet.certificates.classifier.compare import CHOICES, certify_by_disagreement
from pbgnet.certificates.classifier.counted_answers import (
    OVERALL,
    CountedAnswers,
    count_on_rows,
    held_out_choices,
)
from pbgnet.certificates.classifier.counting import certify
from pbgnet.certificates.classifier.fitted import certify_fitted
from pbgnet.certificates.classifier.label_answers import (
    LabelAnswers,
    ask_labels,
    check_label_options,
    claimed_of_labels,
    label_choices,
)
from pbgnet.certificates.classifier.losses import (
    LOSS_SLACK,
    Loss,
    RowLosses,
    loss_quantity,
    loss_settings,
    measure_losses,
    named_loss,
)
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, ExportedNetwork, exported_network
from pbgnet.certificates.classifier.scores import (
    PROBABILITY,
    SCORE_SLACK,
    RowScores,
    Scores,
    measure_scores,
    score_quantity,
    scores_differ,
)
from pbgnet.certificates.classifier.seen_rows import refuse_rows_of_fit
from pbgnet.certificates.classifier.selective import certify_selective
from pbgnet.certificates.classifier.thresholds import Selection

__all__ = [
    "CHOICES",
    "LOSS_SLACK",
    "OVERALL",
    "PROBABILITY",
    "SCORE_SLACK",
    "AnswerColumn",
    "CertifiedPredictions",
    "CountedAnswers",
    "ExportedNetwork",
    "LabelAnswers",
    "Loss",
    "RowLosses",
    "RowScores",
    "Scores",
    "Selection",
    "ask",
    "ask_labels",
    "certify",
    "certify_by_disagreement",
    "certify_fitted",
    "certify_selective",
    "check_label_options",
    "claimed_of_labels",
    "count_on_rows",
    "exported_network",
    "held_out_choices",
    "label_choices",
    "loss_quantity",
    "loss_settings",
    "measure_losses",
    "measure_scores",
    "named_loss",
    "refuse_rows_of_fit",
    "score_quantity",
    "scores_differ",
]
