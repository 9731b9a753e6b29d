"""How a prior is trained thoroughly, and what was chosen on the way."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PriorCourse:
    """How to train a prior thoroughly, with choices made only among the prior rows.

    For each pair of a deviation and a weight decay, a network is trained without a validation part of the
    prior rows. The one with the smallest linear loss there, its weights multiplied by the best factors, is
    trained again on all of them. The measurements behind the defaults are in docs/reference/training.md.

    Attributes
    ----------
    deviations : tuple of float
        Initial standard deviations of the pre-activations of all layers. Small ones give a nearly linear
        network, large ones a network of saturated neurons.
    weight_decay : tuple of float
        Candidates. Decay keeps the weights small, so their noise regularises; the factors remove the noise
        afterwards.
    batch_size : int
    n_steps : int
        Steps of Adam, within the limits for epochs.
    fewest_epochs, most_epochs : int
    last_rate : float
        The share of the initial learning rate that is left at the end; it falls linearly.
    validation_fraction : float
        Share of the prior rows used for validation.
    first_factors, later_factors : tuple of float
        Candidates for the final factors of the weights of the first layer, and of the others. Large ones
        saturate the margins, so the linear loss approaches the error rate.
    sharpen : bool
        Whether several classes are trained for the same time again, without decay, until rows agree with
        their class as much as a bound through drawn voters needs. The cross-entropy leaves outputs soft,
        which does not matter for a count of errors.
    """

    deviations: tuple[float, ...] = (1.0, 3.0)
    weight_decay: tuple[float, ...] = (3e-7, 1e-6, 3e-6)
    batch_size: int = 64
    n_steps: int = 4000
    fewest_epochs: int = 30
    most_epochs: int = 200
    last_rate: float = 0.02
    validation_fraction: float = 0.2
    first_factors: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
    later_factors: tuple[float, ...] = (1.0, 4.0, 16.0)
    sharpen: bool = False

    def n_epochs(self, n_rows: int) -> int:
        """Return the number of epochs for a number of rows."""
        wanted = self.n_steps // max(1, n_rows // self.batch_size)
        return min(max(wanted, self.fewest_epochs), self.most_epochs)


@dataclass(frozen=True, eq=False)
class PriorChoice:
    """What was chosen among the prior rows, the winners among the candidates of `PriorCourse`, and why."""

    deviation: float
    weight_decay: float
    first_factor: float
    later_factor: float
    n_epochs: int
    # Linear loss and error rate on the validation rows, of the network trained without them.
    validation_loss: float
    validation_error: float
    # `y G(x)` of that network on those rows, a mean over outputs, shape (m,). They do not depend on certified
    # rows, so they may be used to choose whatever a certificate needs: (T, k), the C of a mixture, the route.
    # Empty if there was a single prior row, which cannot validate anything.
    margins: NDArray[np.float64]
    retrained: bool  # again, on all prior rows; not after an interrupt
    # With several outputs, the factor of the scores before a softmax turns them into probabilities.
    temperature: float | None = None
    sharpened: bool = False  # whether margins were trained after the cross-entropy
