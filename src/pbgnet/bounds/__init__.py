"""Bounds on the risk, in float64 and rounded outward.

Arguments are numbers, sequences, arrays or tensors and broadcast; results are NumPy float64. The same
formulas inside autograd, for training, are in `pbgnet.bounds.differentiable`.
"""

from pbgnet.bounds import differentiable
from pbgnet.bounds.abstention import (
    binomial_tail,
    last_certified,
    probability_thresholds,
    score_thresholds,
    spread_starts,
    threshold_for,
)
from pbgnet.bounds.betting import betting_bound, betting_budget, betting_grid, betting_log_capital
from pbgnet.bounds.confidence import Constant, log_constant, maurer_xi, split_delta
from pbgnet.bounds.decimals import percent, percent_up, round_down, round_up
from pbgnet.bounds.disagreement import disagreement_bound
from pbgnet.bounds.divergence import tree_divergence, tree_factors
from pbgnet.bounds.held_out import chernoff_bound, clopper_pearson_bound, count_probability
from pbgnet.bounds.kl import binary_kl, kl_inverse_lower, kl_inverse_upper
from pbgnet.bounds.long_sums import exact_sum
from pbgnet.bounds.mixture import FIXED_GRID, catoni_grid, catoni_mixture_bound
from pbgnet.bounds.pac_bayes import (
    CatoniOptimum,
    catoni_bound,
    catoni_optimal,
    mcallester_bound,
    seeger_bound,
)
from pbgnet.bounds.sampled import sampled_risk_ceiling
from pbgnet.bounds.vote import divide_up, vote_bound, vote_loss_error, vote_losses, vote_quantile
from pbgnet.bounds.vote_choice import VoteChoice, choose_vote

__all__ = [
    "FIXED_GRID",
    "CatoniOptimum",
    "Constant",
    "VoteChoice",
    "betting_bound",
    "betting_budget",
    "betting_grid",
    "betting_log_capital",
    "binary_kl",
    "binomial_tail",
    "catoni_bound",
    "catoni_grid",
    "catoni_mixture_bound",
    "catoni_optimal",
    "chernoff_bound",
    "choose_vote",
    "clopper_pearson_bound",
    "count_probability",
    "differentiable",
    "disagreement_bound",
    "divide_up",
    "exact_sum",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "last_certified",
    "log_constant",
    "maurer_xi",
    "mcallester_bound",
    "percent",
    "percent_up",
    "probability_thresholds",
    "round_down",
    "round_up",
    "sampled_risk_ceiling",
    "score_thresholds",
    "seeger_bound",
    "split_delta",
    "spread_starts",
    "threshold_for",
    "tree_divergence",
    "tree_factors",
    "vote_bound",
    "vote_loss_error",
    "vote_losses",
    "vote_quantile",
]
