"""Train a binary activated network on half of a table and certify it on the other half.

The data set (569 tumours, 30 measurements, malignant or benign) comes with scikit-learn. The
first half trains the prior; the bound is then minimised, and certified, on the second half,
which the prior and the scaling have not seen.
"""

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor

from pbgnet.bounds import chernoff_bound, differentiable, seeger_bound
from pbgnet.networks import AggregatedNetwork, PreparedRows, linear_loss, zero_one_loss

DELTA = 0.05
SEED = 0


def load() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split at random into prior rows and certified rows; scale by the prior rows alone."""
    x, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(x))
    prior_rows, certified_rows = np.split(order, [len(x) // 2])
    x = (x - x[prior_rows].mean(axis=0)) / x[prior_rows].std(axis=0)
    features, labels = torch.from_numpy(x), torch.from_numpy(2.0 * y - 1.0)
    return features[prior_rows], labels[prior_rows], features[certified_rows], labels[certified_rows]


def pretrain(network: AggregatedNetwork, rows: PreparedRows, y: Tensor) -> None:
    """Minimise the linear loss on the prior rows; the result becomes the prior."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        linear_loss(network.output(rows), y).mean().backward()
        optimiser.step()
    network.fix_prior()


def minimise_bound(network: AggregatedNetwork, rows: PreparedRows, y: Tensor) -> None:
    """Minimise the bound itself on the certified rows: exact, so L-BFGS can be used."""
    optimiser = torch.optim.LBFGS(network.parameters(), max_iter=50, line_search_fn="strong_wolfe")

    def objective() -> Tensor:
        optimiser.zero_grad()
        risk = linear_loss(network.output(rows), y).mean()
        bound = differentiable.seeger_bound(risk, network.divergence(), len(y), DELTA, "maurer")
        bound.backward()
        return bound

    optimiser.step(objective)


def main() -> None:
    """Train, certify and print what was proved."""
    torch.set_num_threads(1)  # tensors this small are slower with more
    x_prior, y_prior, x, y = load()
    generator = torch.Generator().manual_seed(SEED)
    network = AggregatedNetwork.initialise(x.shape[1], (10,), generator=generator, dtype=torch.float64)
    pretrain(network, network.prepare(x_prior), y_prior)
    n, rows = len(y), network.prepare(x)
    with torch.no_grad():
        prior_risk = linear_loss(network.output(rows), y).mean().item()
    minimise_bound(network, rows, y)

    with torch.no_grad():
        output = network.output(rows)
        risk = linear_loss(output, y).mean().item() + network.error_bound().item() / 2
        divergence = network.divergence().item()
        errors = zero_one_loss(output, y).mean().item()
    bound = seeger_bound(risk, divergence, n, DELTA, "maurer")
    print(f"Breast cancer, network {network.architecture}; {len(y_prior)} prior rows, {n} certified rows.")
    print(f"  empirical linear loss  {risk:.4f}  (proved numerical error {network.error_bound():.0e})")
    print(f"  empirical error rate   {errors:.4f}")
    print(f"  divergence from prior  {divergence:.4f} nats")
    print(f"With confidence {1 - DELTA:.0%} over the draw of the {n} certified rows,")
    print(f"  the expected linear loss of the aggregate is at most {bound:.4f},")
    print(f"  so the error rate of its vote is at most {2 * bound:.4f}.")
    held_out = chernoff_bound(prior_risk, n, DELTA)
    print(f"For comparison: the held-out bound on the linear loss of the prior itself is {held_out:.4f}.")
    print("Nothing is claimed about the plain sign network with the same weights.")


if __name__ == "__main__":
    main()
