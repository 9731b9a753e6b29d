"""A complete description of a training run: two runs with the same description are the same run."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from pbgnet.exceptions import OptionError
from pbgnet.experiments.runs.fingerprint import code_version


@dataclass(frozen=True)
class RunSpec:
    """What is trained, on what, how, and how it is judged."""

    dataset: str
    split_seed: int = 0  # of the random 75/25 split
    n_train: int | None = None  # training rows that are used; None for all
    scaling: str = "paper"  # which columns are standardised; see `pbgnet.datasets.SCALINGS`
    # What is minimised: the linear loss of a tanh network ("mlp"), that of the aggregate ("loss"), the bound
    # from a random prior ("bound"), or from a prior trained on half of the rows ("pretrained").
    training: str = "bound"
    hidden_layers: int = 1
    hidden_size: int = 10
    n_samples: int | None = None  # the T of Monte Carlo; None for the exact aggregate
    weight_decay: float = 0.0
    learning_rate: float = 0.1
    batch_size: int = 64
    seed: int = 0  # of the first weights and the batches
    # Runs that differ only in this differ only in the batches that minimise the bound: they have the same
    # prior.
    restart: int = 0
    # The initial weights, from which "bound" makes its prior; see `pbgnet.networks.initial_weights`.
    initialisation: str = "xavier_normal"
    objective: str = "catoni"  # or "seeger": the form of the bound that "bound" and "pretrained" minimise
    # How they minimise it: as the paper does, or, "hybrid", with a short ramped Adam and then L-BFGS on the
    # exact bound.
    solver: str = "adam"
    max_epochs: int = 150
    plateau_patience: int = 5
    stopping_patience: int = 20
    pretraining_epochs: int = 20
    validation_fraction: float = 0.2
    prior_fraction: float = 0.5
    delta: float = 0.05  # failure probability of all bounds together
    n_priors: int = 9  # priors that share delta
    constant: str = "paper"  # or "maurer"
    n_predictions: int = 20  # predictions that are averaged if the aggregate is sampled

    @property
    def architecture(self) -> str:
        """Hidden layers and their size, such as 2x50."""
        return f"{self.hidden_layers}x{self.hidden_size}"

    @property
    def hidden_layer_sizes(self) -> tuple[int, ...]:
        """Sizes of the hidden layers."""
        return (self.hidden_size,) * self.hidden_layers

    def to_json(self) -> str:
        """Return the description in one canonical form: 0 and 0.0 are the same weight decay."""
        values = {
            field.name: float(getattr(self, field.name)) if field.type is float else getattr(self, field.name)
            for field in dataclasses.fields(self)
        }
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a description back."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a description from names and values; raise an error for unknown names."""
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise OptionError(f"A run has no {', '.join(unknown)}; it has {', '.join(sorted(known))}.")
        return cls(**values)

    def identity(self) -> str:
        """Return the hash of the whole description and of the code that runs it, 16 hexadecimal digits."""
        return hashlib.sha256(f"{self.to_json()}|{code_version()}".encode()).hexdigest()[:16]
