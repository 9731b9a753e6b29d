"""What certificates say about the priors that `PBGNetClassifier` makes."""

from typing import Any

from pbgnet.certificates import PriorRecord
from pbgnet.training import FitResult, PriorChoice


def random_prior(seed: int) -> PriorRecord:
    """Describe a prior that was drawn."""
    described = "Xavier normal weights, intercepts 0"
    return PriorRecord("random", description=described, seed=seed, initialisation="xavier_normal")


def trained_prior(
    result: FitResult, ensemble: bool, class_weight: Any, augmentation: Any, n_rows: int
) -> PriorRecord:
    """Describe a trained prior, and how its rows were weighted and augmented."""
    text = f"trained on the prior rows by minimising the {_loss(result, ensemble)}"
    text += "" if class_weight is None else ", rows weighted by their class"
    text += "" if augmentation is None else ", their images varied in each epoch"
    return PriorRecord("pretrained", description=text, n_rows=n_rows)


def _loss(result: FitResult, ensemble: bool) -> str:
    thorough = isinstance(result.prior_choice, PriorChoice)
    if result.network.architecture.n_outputs > 1 and (ensemble or thorough):
        sharpened = result.prior_choice is not None and result.prior_choice.sharpened
        return "cross-entropy of the classes" + (", then the loss of their margins" if sharpened else "")
    return "log loss" if ensemble else "linear loss"
