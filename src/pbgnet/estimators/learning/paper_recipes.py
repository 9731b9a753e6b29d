"""How the paper's algorithms train a network."""

from typing import Any

from pbgnet.aggregation import Aggregation
from pbgnet.bounds import split_delta
from pbgnet.certificates import PreparedTable, delta_of
from pbgnet.estimators.learning.courses import main_course
from pbgnet.estimators.learning.images import Layout
from pbgnet.training import ALGORITHMS, BoundTerms, EpochChoice, Recipe, Replicas, Solver, Start

# The paper's share of validation rows, and its hidden layer.
VALIDATION_FRACTION = 0.2
PAPER_HIDDEN_LAYER_SIZES = (10,)


def paper_recipe(
    classifier: Any,
    table: PreparedTable,
    layout: Layout,
    *,
    solver: Solver,
    aggregation: Aggregation,
    batch_size: int | None,
    seeds: list[int],
    device: str,
) -> Recipe:
    """Read the parameters of a `PBGNetClassifier` that are about the main training.

    Parameters
    ----------
    classifier : PBGNetClassifier
    table : PreparedTable
    layout : Layout
    solver, aggregation, batch_size, device
        The resolved values; the classifier may leave them open.
    seeds : list of int
        Seeds of the prior, and of the batches.
    """
    n_rows, n_features = table.features.shape
    algorithm = ALGORITHMS[classifier.algorithm]
    delta = split_delta(delta_of(classifier.confidence), int(classifier.n_priors))
    decays = algorithm.default_weight_decay
    if classifier.weight_decay is not None:
        decays = (float(classifier.weight_decay),)
    return Recipe(
        start=Start.drawn(
            n_features,
            layout.hidden_layer_sizes,
            seeds[0],
            aggregation,
            table.inputs.code.n_outputs,
            layout.patches,
        ),
        replicas=Replicas.restarts(
            int(classifier.n_restarts),
            float(classifier.learning_rate),
            seeds[1],
            weight_decay=decays,
            explore=algorithm.minimises_bound,
            device=device,
        ),
        bound=BoundTerms(delta, classifier.constant, classifier.objective, layout.n_positions),
        course=main_course(solver, n_rows, batch_size, classifier.max_epochs),
        solver=solver.name,
        epochs=EpochChoice(VALIDATION_FRACTION, seeds[1], (algorithm.rule,)),
        keep_prior=classifier.certificate == "vote" and table.inputs.code.n_outputs > 1,
    )
