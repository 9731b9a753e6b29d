"""The paper's algorithms as scikit-learn estimators."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from pbgnet.aggregation import METHODS, Aggregation
from pbgnet.certificates import MOST_MEMBERS, PreparedTable, PriorRecord
from pbgnet.choices import CERTIFICATES
from pbgnet.estimators.around_fit import choose_device
from pbgnet.estimators.base import CertifiedClassifier
from pbgnet.estimators.learning import (
    PAPER_HIDDEN_LAYER_SIZES,
    Layout,
    auto_hidden_layer_sizes,
    ensemble_recipe,
    hidden_sizes,
    paper_recipe,
    prior_course,
    random_prior,
    read_layout,
    trained_prior,
    training_aggregation,
)
from pbgnet.exceptions import OptionError
from pbgnet.networks import CODES
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training import (
    ALGORITHMS,
    AUGMENTATIONS,
    SOLVERS,
    FitResult,
    PriorTraining,
    Solver,
    TrainingData,
    fit_ensemble,
)


class PBGNetClassifier(CertifiedClassifier):
    """Neural network with binary activations that comes with a certificate: a proved bound on its error rate.

    Parameters
    ----------
    hidden_layer_sizes : "auto", int or sequence of int, default="auto"
        Neurons per hidden layer; empty for a linear classifier. "auto" means 20 for "ensemble" (50 if there
        are more than 256 columns of numbers) and 10, as in the paper, for the other algorithms. With a
        convolution, "auto" adds no further layer.
    algorithm : {"ensemble", "pbgnet_pre", "pbgnet", "pbgnet_l", "pbgnet_l_bnd", "mlp"}, default="ensemble"
        "ensemble" trains several networks with the log loss on the prior rows, chooses their settings by
        cross-validation there, and counts their errors on the certified rows. It is the best choice for most
        tables. The others are the paper's algorithms. "pbgnet_pre" trains the prior on the prior rows and
        minimises the bound on the certified rows; "pbgnet" minimises it on all rows from a random prior;
        "pbgnet_l" and "pbgnet_l_bnd" minimise the loss and select on validation rows or by the bound;
        "mlp" is a tanh network without a certificate.
    code : "auto", str, or matrix of shape (n_classes, n_outputs), default="auto"
        Which signs of the network's outputs stand for which class; see `pbgnet.networks.make_code`. Two
        classes need one output. For more classes, "auto" means "hadamard": any two classes differ in about
        half of the outputs, and there are at most twice as many outputs as classes. "one-against-rest" has
        one output per class, "exhaustive" has every possible output. A matrix contains one row of signs -1
        and 1 per class, in the order of `classes_`.
    confidence : float, default=0.95
        Probability with which the certificate holds, over the draw of the certified rows.
    aggregation : {"fourier", "monte_carlo", "enumeration"}, default="fourier"
        How the aggregate is computed during training. The certificate always uses "fourier".
    n_samples : int, default=100
        Sign vectors per example for "monte_carlo", the paper's T.
    prior_fraction : float, default=0.5
        Share of the rows used as prior rows ("ensemble", "pbgnet_pre").
    n_members : int, default=5
        Number of folds for "ensemble": each network is trained without one of them. The networks of the
        candidate that does best on the folds, or of the best two, form the ensemble.
    class_weight : "balanced", dict or None, default=None
        Weight of the rows of each class when training "ensemble", as in scikit-learn; scaled to a mean of 1.
        Only the prior rows are weighted. The certificate still bounds the plain error rate, which class
        weights usually increase. For a bound that treats all classes alike, see `class_conditional`.
    preprocessing : {"auto", "none"}, default="auto"
        Whether "ensemble" bins and scales numbers, as learned from the prior rows, as part of the model.
        Sparse rows, and the rows of the other algorithms, are used as they are.
    image_shape : tuple of int, optional
        (height, width[, channels]) of rows that are images; not needed if X is an array of images. Pixels
        are divided by the largest value in the prior rows and not preprocessed otherwise; see
        docs/how-to/images.md.
    convolution : (filters, kernel_size, stride), optional
        First layer that applies this many filters to each patch of an image. Without it, the first layer
        reads whole images.
    augmentation : "small", callable or None, default=None
        How the images of the prior rows vary in each epoch. "small" rotates, stretches and shifts them a
        little; a function ``f(images, generator)`` receives tensors (n, height, width, channels).
    prior_training : {"auto", "paper", "thorough"}, default="auto"
        How "pbgnet_pre" trains its prior. "paper" runs 20 epochs of the linear loss. "thorough" trains
        longer, chooses among several methods on validation rows of its own, and then minimises the bound
        with L-BFGS only. "auto" means "paper" for one output and "thorough" for several, where the linear
        loss trains poorly. With several classes and ``certificate="vote"``, a thorough prior is kept as it
        is.
    solver : {"hybrid", "adam"}, default="hybrid"
        How the bound is minimised: Adam with a ramped divergence followed by L-BFGS on the exact bound,
        or Adam as in the paper. The loss is always minimised with Adam.
    objective : {"seeger", "catoni"}, default="seeger"
        The form of the bound that is minimised; "catoni" learns C along with the weights, as the
        paper does (solver "adam").
    constant : {"maurer", "paper"}, default="maurer"
        Constant of the bound: the exact one, or `2 sqrt(n)` as in the paper.
    certificate : {"auto", "seeger", "mixture", "vote", "held-out"}, default="auto"
        How the error rate is bounded. "seeger" and "mixture" bound the linear loss and double it; "vote"
        bounds the error rate of the vote through several networks; "held-out" counts the errors of the
        prior's vote, which then makes the predictions. "auto" computes "vote" and "held-out" at half of
        delta each and deploys the one with the smaller bound; without a trained prior, it takes the better
        of "seeger" and "mixture" at half of delta each. For "ensemble", it is "held-out".
    class_conditional : bool, default=False
        Also bound the error rate in each class, and their mean, the balanced error rate. All bounds then
        share delta.
    confusion : bool, default=False
        Also bound how often each class is mistaken for each other class, and the error rate of each class.
        All bounds then share delta. Requires "held-out", as "ensemble" uses.
    max_error : float, default=None
        Only answer when confident: certify a threshold above which at most this share of answers is wrong,
        chosen to answer as many rows as possible, and bound how many rows that is. All bounds share delta.
        Requires "held-out". `predict_or_abstain` applies the threshold; `predict` answers all rows.
    coverage : float, default=None
        Instead of max_error: answer about this share of the rows, with a bound on their error rate.
    n_restarts : int, default=1
        Networks trained side by side from the same prior; the best one is kept. Costs no confidence.
    n_priors : int, default=1
        Number of priors among which you choose by looking at certificates or certified rows; see Notes.
    batch_size : int or "auto", default="auto"
        Rows per step of Adam. "auto" means 32 to 256 for "ensemble"; for the others it follows the paper:
        32, or 64 from 20 000 rows. The hybrid solver uses 256 for its Adam phase.
    learning_rate : float, default=0.1
        Initial learning rate of Adam, also for the prior of "pbgnet_pre". For "ensemble" it falls to 0, and
        starts at half the value if there are many rows and few columns.
    max_epochs : int, default=None
        Epochs of Adam; for the paper's algorithms, the maximum. Default: for "ensemble", enough for 1600
        steps and at least 40 epochs; 8 for the hybrid solver; 150 for Adam.
    weight_decay : float, default=None
        L2 penalty. Default: chosen by cross-validation for "ensemble", and on validation rows among
        0, 1e-4 and 1e-6 for "mlp", "pbgnet_l" and "pbgnet_l_bnd".
    random_state : int, RandomState instance or None, default=None
        Seed of everything random: the split, the prior, the batches, the samples.
    device : str, default="auto"
        Where to train; "auto" uses a GPU if there is one. The fitted network is always on the CPU.
    verbose : int, default=0
        1 shows a progress bar in a terminal.

    Attributes
    ----------
    certificate_ : Certificate
        What is proved about this classifier.
    certified_model_ : CertifiedModel
        Network, certificate and split, ready to save and verify; None for "mlp".
    network_ : AggregatedNetwork or TanhNetwork
        The network that predicts: the posterior, or the prior if the certificate is about its vote.
    history_ : list of dict
        One record per epoch or iteration of training.
    classes_ : ndarray of shape (n_classes,)
        All labels given to fit.
    n_features_in_ : int
        Number of columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, if it had any.
    prior_rows_, certified_rows_ : ndarray of int
        The split of the rows given to fit.

    Notes
    -----
    For a given prior, the certificate holds for all posteriors simultaneously. With the paper's algorithms,
    you can therefore choose `n_restarts`, `solver`, `objective` and `max_epochs` freely after looking at
    certificates (but not `certificate`: "auto" pays for what it tries). Every further *prior* you could have
    chosen costs confidence: other hidden layers, codes, seeds, prior fractions or rows, and for "ensemble"
    and "pbgnet_pre" everything else that trains the prior, such as `learning_rate`, `batch_size` and
    `augmentation`; for "ensemble", which is its own prior, also `max_epochs`. If you compare k such fits, or
    let `GridSearchCV` compare them on rows that are certified afterwards, set ``n_priors=k`` in all of them.

    References
    ----------
    Letarte, Germain, Guedj, Laviolette (2019), "Dichotomize and Generalize: PAC-Bayesian Binary
    Activated Deep Neural Networks".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pbgnet.estimators import PBGNetClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = PBGNetClassifier(random_state=0).fit(X, y)
    >>> classifier.certificate_.inputs.n
    285
    >>> classifier.verify(X, y).ok
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CertifiedClassifier._parameter_constraints,
        "hidden_layer_sizes": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "algorithm": [StrOptions({"ensemble", *ALGORITHMS})],
        "code": [StrOptions({"auto", *CODES}), "array-like"],
        "aggregation": [StrOptions(set(METHODS))],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "prior_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_members": [Interval(Integral, 1, MOST_MEMBERS // 2, closed="both")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "preprocessing": [StrOptions({"auto", "none"})],
        "image_shape": ["array-like", None],
        "convolution": ["array-like", None],
        "augmentation": [StrOptions(set(AUGMENTATIONS)), callable, None],
        "prior_training": [StrOptions({"auto", "paper", "thorough"})],
        "solver": [StrOptions(set(SOLVERS))],
        "objective": [StrOptions({"seeger", "catoni"})],
        "certificate": [StrOptions(set(CERTIFICATES))],
        "confusion": ["boolean"],
        "max_error": [Real, None],
        "coverage": [Real, None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "weight_decay": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = "auto",
        *,
        algorithm: str = "ensemble",
        code: str | ArrayLike = "auto",
        confidence: float = 0.95,
        aggregation: str = "fourier",
        n_samples: int = 100,
        prior_fraction: float = 0.5,
        n_members: int = 5,
        class_weight: str | dict[Any, Any] | None = None,
        preprocessing: str = "auto",
        image_shape: Any = None,
        convolution: Any = None,
        augmentation: Any = None,
        prior_training: str = "auto",
        solver: str = "hybrid",
        objective: str = "seeger",
        constant: str = "maurer",
        certificate: str = "auto",
        class_conditional: bool = False,
        confusion: bool = False,
        max_error: float | None = None,
        coverage: float | None = None,
        n_restarts: int = 1,
        n_priors: int = 1,
        batch_size: int | str = "auto",
        learning_rate: float = 0.1,
        max_epochs: int | None = None,
        weight_decay: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.algorithm = algorithm
        self.code = code
        self.confidence = confidence
        self.aggregation = aggregation
        self.n_samples = n_samples
        self.prior_fraction = prior_fraction
        self.n_members = n_members
        self.class_weight = class_weight
        self.preprocessing = preprocessing
        self.image_shape, self.convolution, self.augmentation = image_shape, convolution, augmentation
        self.prior_training = prior_training
        self.solver = solver
        self.objective = objective
        self.constant = constant
        self.certificate = certificate
        self.class_conditional, self.confusion = class_conditional, confusion
        self.max_error, self.coverage = max_error, coverage
        self.n_restarts, self.n_priors = n_restarts, n_priors
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.device, self.verbose = device, verbose

    def _sets_rows_apart(self) -> bool:
        return self._is_ensemble() or ALGORITHMS[self.algorithm].uses_prior_rows

    def _is_ensemble(self) -> bool:
        return self.algorithm == "ensemble"

    def _make_preprocessor(self, table: Any) -> TablePreprocessor | None:
        as_given = self.preprocessing == "none" or sparse.issparse(table) or self.image_shape_ is not None
        if not self._is_ensemble() or as_given:
            return None
        return TablePreprocessor()

    def _route(self) -> str:
        # Its prior is its posterior, so no bound through several networks can be smaller than the count.
        return "held-out" if self._is_ensemble() and self.certificate == "auto" else str(self.certificate)

    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        if self._is_ensemble():
            return self._learn_ensemble(table, seeds)
        if self.class_weight is not None:
            raise OptionError(
                f"class_weight only applies to algorithm='ensemble', not to {self.algorithm!r}; remove it."
            )
        algorithm = ALGORITHMS[self.algorithm]
        if algorithm.minimises_bound and self.weight_decay is not None:
            raise OptionError(
                f"weight_decay has no effect with algorithm={self.algorithm!r}, which is regularised "
                "by the KL divergence; remove it."
            )
        device = choose_device(self.device)
        layout = self._layout(table, seeds[1])
        recipe = paper_recipe(
            self,
            table,
            layout,
            solver=self._solver(),
            aggregation=self._aggregation(seeds[2], device),
            batch_size=self._batch_size(),
            seeds=seeds,
            device=device,
        )
        code = table.inputs.code

        def data(rows: NDArray[np.int64]) -> TrainingData:
            examples, unit = table.examples(rows), self.algorithm != "mlp"
            return TrainingData.of(*examples, unit=unit, device=device, patches=layout.patches)

        if algorithm.uses_prior_rows:
            prior = PriorTraining.of_restarts(
                data(table.split.prior_rows),
                prior_course(
                    self.prior_training, table.n_rows, code.n_outputs, self._batch_size(), self._route()
                ),
                float(self.learning_rate),
                seeds[1],
                recipe.replicas,
                code,
            )
            recipe = replace(recipe, prior=replace(prior, augmentation=layout.augmentation))
        return algorithm.fit(recipe, data(table.split.certified_rows), verbose=int(self.verbose))

    def _learn_ensemble(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        device = choose_device(self.device)
        recipe = ensemble_recipe(
            table,
            self._layout(table, seeds[1]),
            aggregation=self._aggregation(seeds[2], device),
            n_members=int(self.n_members),
            learning_rate=float(self.learning_rate),
            weight_decay=None if self.weight_decay is None else float(self.weight_decay),
            batch_size=self._batch_size(),
            max_epochs=self.max_epochs,
            class_weight=self.class_weight,
            seeds=seeds,
            device=device,
        )
        return fit_ensemble(recipe, verbose=int(self.verbose))

    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        if result.prior_kind == "pretrained":
            return trained_prior(
                result, self._is_ensemble(), self.class_weight, self.augmentation, n_prior_rows
            )
        return random_prior(seeds[0])

    def _layout(self, table: PreparedTable, seed: int) -> Layout:
        auto = auto_hidden_layer_sizes(table) if self._is_ensemble() else PAPER_HIDDEN_LAYER_SIZES
        sizes = hidden_sizes(self.hidden_layer_sizes, auto)
        return read_layout(self, table, sizes, self._sets_rows_apart(), seed)

    def _batch_size(self) -> int | None:
        return None if self.batch_size == "auto" else int(self.batch_size)

    def _solver(self) -> Solver:
        """Return the solver in use: the loss is only minimised with Adam."""
        minimises_bound = not self._is_ensemble() and ALGORITHMS[self.algorithm].minimises_bound
        return SOLVERS[self.solver if minimises_bound else "adam"]

    def _aggregation(self, seed: int, device: str) -> Aggregation:
        return training_aggregation(
            self.aggregation, int(self.n_samples), self._solver(), self.objective, seed, device
        )
