"""
Minimise a bound by hand
========================

The estimators hide the mathematics. This example shows the parts: train a network on one half of a table,
make it the prior, then minimise the bound itself on the other half.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor

from pbgnet.bounds import chernoff_bound, differentiable, seeger_bound
from pbgnet.networks import AggregatedNetwork, linear_loss, zero_one_loss

plt.style.use("pbgnet.pages.gallery")
torch.set_num_threads(1)  # tensors this small are slower with more
DELTA = 0.05

# %%
# Two halves
# ----------
#
# The first half trains the prior and sets the scale of the columns. The second half is certified.

features, target = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(features))
prior_rows, certified_rows = np.split(order, [len(order) // 2])
features = (features - features[prior_rows].mean(axis=0)) / features[prior_rows].std(axis=0)
x, y = torch.from_numpy(features), torch.from_numpy(2.0 * target - 1.0)

# %%
# Train the prior
# ---------------
#
# ``AggregatedNetwork`` averages a network with sign activations over Gaussian weights. Its output is
# smooth, so any optimiser of PyTorch can train it. ``fix_prior`` makes the present weights the prior.

generator = torch.Generator().manual_seed(0)
network = AggregatedNetwork.initialise(x.shape[1], (10,), generator=generator, dtype=torch.float64)
prior_inputs, inputs = network.prepare(x[prior_rows]), network.prepare(x[certified_rows])
y_prior, y_certified = y[prior_rows], y[certified_rows]
n = len(y_certified)

optimiser: torch.optim.Optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
for _ in range(200):
    optimiser.zero_grad()
    linear_loss(network.output(prior_inputs), y_prior).mean().backward()
    optimiser.step()
network.fix_prior()
with torch.no_grad():
    prior_risk = linear_loss(network.output(inputs), y_certified).mean().item()

# %%
# Minimise the bound
# ------------------
#
# The bound grows with the loss on the certified rows and with the divergence: how far the weights move away
# from the prior. Moving is worth it as long as the loss falls faster than the divergence rises.

history: list[tuple[float, float, float]] = []
optimiser = torch.optim.LBFGS(network.parameters(), max_iter=50, line_search_fn="strong_wolfe")


def objective() -> Tensor:
    """Return the bound, and remember its parts."""
    optimiser.zero_grad()
    risk = linear_loss(network.output(inputs), y_certified).mean()
    divergence = network.divergence()
    bound = differentiable.seeger_bound(risk, divergence, n, DELTA, "maurer")
    bound.backward()
    history.append((risk.item(), divergence.item(), bound.item()))
    return bound


optimiser.step(objective)

# %%
# Certify
# -------
#
# For the certificate everything is computed again in double precision and rounded outward, with the proved
# numerical error of the network added.

with torch.no_grad():
    output = network.output(inputs)
    risk = linear_loss(output, y_certified).mean().item() + network.error_bound().item() / 2
    errors = zero_one_loss(output, y_certified).mean().item()
    divergence = network.divergence().item()
bound = seeger_bound(risk, divergence, n, DELTA, "maurer")
print(f"Error rate on the {n} certified rows: {errors:.4f}; mean linear loss: {risk:.4f}.")
print(f"With confidence 95 %, the expected linear loss is at most {bound:.4f},")
print(f"so the error rate of the vote is at most {2 * bound:.4f}.")
print(f"The held-out bound on the linear loss of the prior is {chernoff_bound(prior_risk, n, DELTA):.4f}.")

# %%

risks, divergences, bounds = (np.array(values) for values in zip(*history, strict=True))
fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 4.6), sharex=True, height_ratios=(1.4, 1))
top.plot(bounds, color="C0", label="bound")
top.plot(risks, color="C1", label="loss on the certified rows")
top.set(ylabel="linear loss", ylim=(0, 1.15 * bounds[0]))
top.set_title("The loss falls further than\nthe price of moving rises")
top.legend(loc="center right")
bottom.plot(divergences, color="C4")
bottom.set(xlabel="evaluations of the bound", ylabel="divergence\n(nats)", ylim=(0, None))
plt.show()

# %%
# On so few rows, simply counting the prior's mistakes gives a better bound, which is what
# ``PBGNetClassifier`` does by default.
