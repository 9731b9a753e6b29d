"""The scikit-learn face of the paper's algorithms."""

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
    """Binary activated network trained by minimising a PAC-Bayes bound, with a certificate.

    Parameters
    ----------
    hidden_layer_sizes : "auto", int or sequence of int, default="auto"
        Neurons per hidden layer; empty for a linear classifier. "auto" is 20 for "ensemble", 50 where it has
        more than 256 columns of numbers, and 10, as in the paper, for the others. Above a convolution "auto"
        is none.
    algorithm : {"ensemble", "pbgnet_pre", "pbgnet", "pbgnet_l", "pbgnet_l_bnd", "mlp"}, default="ensemble"
        "ensemble" trains several networks on a part of the rows by the log loss, choosing by cross-validation
        among them what is best chosen so, and its errors are counted on the other rows: the best classifier
        for most tables. The others are the paper's algorithms. "pbgnet_pre" trains the prior on a part of the
        rows and minimises the bound on the others; "pbgnet" minimises it on all rows from a random prior;
        "pbgnet_l" and "pbgnet_l_bnd" minimise the loss and select on validation rows or by the bound;
        "mlp" is a tanh network without a certificate.
    code : "auto", str, or matrix of shape (n_classes, n_outputs), default="auto"
        Which signs of the network's outputs stand for which class; see `pbgnet.networks.make_code`. Two
        classes have one output. "auto" is "hadamard" for more: any two classes differ in more than half of
        the outputs, of which there are at most twice as many as classes. "one-against-rest" has an output for
        each class, "exhaustive" all there can be. A matrix has rows of signs -1 and 1 in the order of
        `classes_`.
    confidence : float, default=0.95
        Probability with which the certificate holds, over the draw of the certified rows.
    aggregation : {"fourier", "monte_carlo", "enumeration"}, default="fourier"
        How the aggregate is computed in training. It is certified by "fourier" in any case.
    n_samples : int, default=100
        Sign vectors per example of "monte_carlo", the paper's T.
    prior_fraction : float, default=0.5
        Share of the rows that trains the prior ("ensemble", "pbgnet_pre").
    n_members : int, default=5
        Folds of "ensemble": each network is trained without one of them. The networks of the candidate that
        is best on the folds, or of the best two, answer together: so many, or twice as many.
    class_weight : "balanced", dict or None, default=None
        How much rows of each class count in training "ensemble", as in scikit-learn; scaled to a mean of 1.
        It is used on the prior rows alone: the certificate speaks of the plain error rate all the same, which
        it most often raises. See `class_conditional` for a bound that counts all classes alike.
    preprocessing : {"auto", "none"}, default="auto"
        Whether "ensemble" cuts numbers into bins and scales them, as learned from the prior rows, as part of
        the model. Sparse rows, and those of the other algorithms, are used as they are.
    image_shape : tuple of int, optional
        (height, width[, channels]) of rows that are images; known if X is an array of images. Pixels are
        divided by the largest of the prior rows, and not preprocessed otherwise; see docs/how-to/images.md.
    convolution : (filters, kernel_size, stride), optional
        A first layer of so many filters at each patch of an image; it reads whole images without.
    augmentation : "small", callable or None, default=None
        How images of the prior rows are varied in each epoch: turned, stretched and shifted a little; or
        ``f(images, generator)`` on tensors (n, height, width, channels).
    prior_training : {"auto", "paper", "thorough"}, default="auto"
        How "pbgnet_pre" trains its prior: 20 epochs of the linear loss as in the paper; or until it is good,
        choosing among several ways on validation rows of its own, after which the bound is minimised by
        L-BFGS alone. "auto" is "paper" for one output, and "thorough" for more: the linear loss is a poor
        teacher of several classes. Several classes with ``certificate="vote"`` keep a thorough prior as it
        is.
    solver : {"hybrid", "adam"}, default="hybrid"
        How the bound is minimised: Adam with a ramped divergence and then L-BFGS on the exact bound,
        or Adam as in the paper. The loss is always minimised by Adam.
    objective : {"seeger", "catoni"}, default="seeger"
        The form of the bound that is minimised; "catoni" learns C along with the weights, as the
        paper does (solver "adam").
    constant : {"maurer", "paper"}, default="maurer"
        Constant of the bound: the exact one, or `2 sqrt(n)` as in the paper.
    certificate : {"auto", "seeger", "mixture", "vote", "held-out"}, default="auto"
        The route to the bound on the error rate. "seeger" and "mixture" bound the linear loss and
        double it; "vote" bounds the error rate of the vote through several networks; "held-out" counts
        the errors of the prior's vote, which is then what predicts. "auto" computes "vote" and "held-out"
        at half of delta each and deploys what has the smaller bound; without a trained prior it takes the
        better of "seeger" and "mixture", at half of delta each. For "ensemble" it is "held-out".
    class_conditional : bool, default=False
        Also bound the error rate among rows of each class, and their mean, the balanced error rate; all rates
        then share delta.
    confusion : bool, default=False
        Also bound how often the rows of each class are answered with each other class, and the error rate of
        each class; all of these share delta. For the route "held-out", as of "ensemble".
    max_error : float, default=None
        Answer only where sure: certify a threshold from which as many rows are answered as can be with at
        most this share of the answers wrong, and how many rows that is; all of it shares delta. For the
        route "held-out". `predict_or_abstain` keeps to it, `predict` answers all rows.
    coverage : float, default=None
        Instead of max_error: answer about this share of rows, with a bound on the error rate among them.
    n_restarts : int, default=1
        Networks trained side by side from the same prior; the best one is kept. Costs no confidence.
    n_priors : int, default=1
        Number of priors among which you select by looking at the certificates or at the certified rows:
        see Notes.
    batch_size : int or "auto", default="auto"
        Rows per step of Adam; "auto" is 32 to 256 for "ensemble", and for the others the paper's choice, 32,
        and 64 from 20 000 rows on. The hybrid solver, whose Adam only looks for a good basin of the bound,
        takes 256 for that.
    learning_rate : float, default=0.1
        First learning rate of Adam, also for the prior of "pbgnet_pre"; that of "ensemble" falls to 0,
        from half of it where rows are many and columns are not.
    max_epochs : int, default=None
        Epochs of Adam, of the paper's algorithms at most so many. Unless given: for "ensemble" enough for
        1600 steps, and 40 at least; 8 for the hybrid solver and 150 for Adam alone.
    weight_decay : float, default=None
        L2 penalty. Unless given it is chosen by cross-validation for "ensemble", and on validation rows among
        0, 1e-4 and 1e-6 for "mlp", "pbgnet_l" and "pbgnet_l_bnd".
    random_state : int, RandomState instance or None, default=None
        Governs everything random: the split, the prior, the batches, the samples.
    device : str, default="auto"
        Where to train; "auto" takes a GPU where there is one. The fitted network is on the CPU.
    verbose : int, default=0
        1 for a progress bar on a terminal.

    Attributes
    ----------
    certificate_ : Certificate
        What is proved about this classifier.
    certified_model_ : CertifiedModel
        Network, certificate and split, to save and to verify; None for "mlp".
    network_ : AggregatedNetwork or TanhNetwork
        What predicts: the posterior, or the prior where the certificate speaks of its vote.
    history_ : list of dict
        One record per epoch or iteration of training.
    classes_ : ndarray of shape (n_classes,)
        All labels given to fit.
    n_features_in_ : int
        Columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, where it had any.
    prior_rows_, certified_rows_ : ndarray of int
        The split of the rows given to fit.

    Notes
    -----
    For one prior the certificate holds for every posterior at once: `n_restarts`, `solver`, `objective`
    and `max_epochs` of the paper's algorithms may be chosen freely after looking at certificates
    (`certificate` may not: "auto" pays for what it looks at). Every further *prior* that could have been
    chosen costs confidence: other hidden layers, codes, seeds, prior fractions or rows, and for "ensemble"
    and "pbgnet_pre" everything else that trains the prior: `learning_rate`, `batch_size`, `augmentation`
    and so on; for "ensemble", which is its own prior, `max_epochs` too. If you compare k such fits, or let
    `GridSearchCV` compare them on rows that are certified afterwards, set ``n_priors=k`` in all of them.

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
        # Its prior is its posterior, so that no bound through several networks can be smaller than the count.
        return "held-out" if self._is_ensemble() and self.certificate == "auto" else str(self.certificate)

    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        if self._is_ensemble():
            return self._learn_ensemble(table, seeds)
        if self.class_weight is not None:
            raise OptionError(f"class_weight is for 'ensemble', not for {self.algorithm!r}; leave it out.")
        algorithm = ALGORITHMS[self.algorithm]
        if algorithm.minimises_bound and self.weight_decay is not None:
            raise OptionError(
                f"weight_decay has no effect on {self.algorithm!r}, whose penalty is the divergence; "
                "leave it out."
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
        """Return the solver at work: the loss is minimised by Adam alone."""
        minimises_bound = not self._is_ensemble() and ALGORITHMS[self.algorithm].minimises_bound
        return SOLVERS[self.solver if minimises_bound else "adam"]

    def _aggregation(self, seed: int, device: str) -> Aggregation:
        return training_aggregation(
            self.aggregation, int(self.n_samples), self._solver(), self.objective, seed, device
        )
