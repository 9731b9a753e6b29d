"""The solvers by name."""

from pbgnet.training.solvers.hybrid import HYBRID
from pbgnet.training.solvers.paper_adam import ADAM

SOLVERS = {solver.name: solver for solver in (ADAM, HYBRID)}
