"""A walk over the public names: whatever an argument is, the answer is a result or a typed error."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from checks.fuzz import time_limit

import pbgnet
from pbgnet import (
    aggregation,
    bounds,
    certificates,
    datasets,
    declaration,
    estimators,
    export,
    networks,
    planning,
    report,
)
from pbgnet.bounds import differentiable
from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.exceptions import DomainError, MemoryLimitError, PBGNetError, UncertifiedError

MOST_SECONDS = 20
"""No single call may take longer, on a machine that has other work."""

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)
ROW = torch.tensor([[0.5, -1.0]], dtype=torch.float64)

ODD = {
    "None": None,
    "text": "abc",
    "no text": "",
    "lone surrogate": "\ud800",
    "end of a text": "a\0b",
    "bytes": b"abc",
    "True": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-1": -1,
    "0": 0,
    "-0.5": -0.5,
    "1.5": 1.5,
    "2**63": 2**63,
    "10**12": 10**12,
    "400 digits": 10**400,
    "-400 digits": -(10**400),
    "complex": 1j,
    "object": object(),
    "class": int,
    "function": lambda *given: given,
    "set": {1, 2},
    "dict": {"a": 1},
    "no list": [],
    "ragged": [[1, 2], [3]],
    "texts": ["a", "b"],
    "huge list": [10**400],
    "surrogates": ["\ud800", "b"],
    "no rows": np.empty((0, 2)),
    "no columns": np.empty((40, 0)),
    "no axes": np.array(0.5),
    "three axes": np.zeros((2, 2, 2)),
    "nans": np.full((40, 2), np.nan),
    "objects": np.array([object(), None], dtype=object),
    "complex array": np.ones((40, 2)) * 1j,
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "no tensor": torch.empty(0),
    "whole tensor": torch.tensor([[1, 2]]),
    "half tensor": torch.ones(1, 2, dtype=torch.bfloat16),
    "gradient": torch.ones(1, 2, dtype=torch.float64, requires_grad=True),
    "complex tensor": torch.ones(1, 2, dtype=torch.complex128),
    "huge tensor": torch.full((1, 2), 1e308, dtype=torch.float64),
    "meta tensor": torch.ones(1, 2, device="meta"),
}


def generator():
    return torch.Generator().manual_seed(0)


def vote(rows):
    return (np.asarray(rows)[:, :1].sum(axis=1) > 0).astype(int)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """One call that works for each public name: the name, what is called, and its arguments."""
    folder = tmp_path_factory.mktemp("odd")
    network = networks.AggregatedNetwork([torch.tensor([[3.0, 0.0]])], [torch.zeros(1, 2)], intercept=False)
    terms = {"classes": (0, 1), "prior": PriorRecord("zero"), "prior_rows": [], "certified_rows": range(40)}
    model = certify_network(network, X, Y, **terms)
    predictions = pbgnet.certify(vote, X, Y)
    pbgnet.save_model(model, folder / "model")
    predictions.save(folder / "predictions")
    breast = datasets.load_dataset("breast")
    world = SimpleNamespace(
        folder=folder, network=network, terms=terms, model=model, predictions=predictions, breast=breast
    )
    return {**_calls_of_bounds(), **_calls_of_layers(world), **_calls_of_certificates(world)}


def _calls_of_bounds():
    evidence = {"risk": 0.1, "divergence": 2.0, "n": 100, "delta": 0.05}
    tensors = {"risk": torch.tensor(0.1), "divergence": torch.tensor(2.0), "n": 100, "delta": 0.05}
    losses = np.linspace(0, 1, 20)
    sides = {"q": 0.1, "budget": 0.2}
    twins = {"q": torch.tensor(0.1), "budget": torch.tensor(0.2)}
    return {
        bounds.betting_bound: {"losses": losses, "delta": 0.05, "bets": [0.1]},
        bounds.betting_grid: {"losses": losses, "n": 20, "delta": 0.05},
        bounds.betting_log_capital: {"losses": losses, "m": 0.5, "bets": [0.1]},
        bounds.binary_kl: {"q": 0.1, "p": 0.2},
        bounds.catoni_bound: {**evidence, "c": 1.0},
        bounds.catoni_grid: {**evidence, "size": 5, "factor": 1.5},
        bounds.catoni_mixture_bound: {**evidence, "c": [1.0, 2.0]},
        bounds.catoni_optimal: evidence,
        bounds.chernoff_bound: {"risk": 0.1, "n": 100, "delta": 0.05},
        bounds.choose_vote: {"margins": np.linspace(-0.5, 1, 20), "divergence": 1.0, "n": 100, "delta": 0.05},
        bounds.clopper_pearson_bound: {"n_errors": 3, "n": 100, "delta": 0.05},
        bounds.disagreement_bound: {"bound": 0.1, "n_disagreements": 3, "m": 100, "delta": 0.05},
        bounds.kl_inverse_lower: sides,
        bounds.kl_inverse_upper: sides,
        bounds.maurer_xi: {"n": 100},
        bounds.mcallester_bound: evidence,
        bounds.sampled_risk_ceiling: {"risk": 0.1, "n_draws": 100, "delta": 0.05},
        bounds.seeger_bound: {**evidence, "constant": "maurer"},
        bounds.split_delta: {"delta": 0.05, "n_priors": 2},
        bounds.tree_divergence: {"weights": [ROW], "prior_weights": [ROW]},
        bounds.tree_factors: {"n_neurons": [3, 1]},
        bounds.vote_bound: {**evidence, "n_networks": 5, "n_right": 3},
        bounds.vote_loss_error: {"n_networks": 5, "n_right": 3, "margin_error": 0.0},
        bounds.vote_losses: {"margins": np.linspace(-0.5, 1, 20), "n_networks": 5, "n_right": 3},
        bounds.vote_quantile: {"n_networks": 5, "n_right": 3, "margin_error": 0.0},
        pbgnet.rows_needed: {"error": 0.02, "claim": 0.03, "confidence": 0.95, "n_claims": 1, "chance": 0.8},
        planning.share_delta: {"n_classes": 3, "n_groups": 2, "abstains": True},
        planning.bound_by_rows: {"error": 0.02, "rows": [100, 200], "confidence": 0.95, "n_claims": 1},
        planning.plan_rows: {
            "error": 0.02,
            "claim": 0.03,
            "chance": 0.8,
            "n_rows": 5000,
            "class_shares": {"a": 0.5, "b": 0.5},
            "class_claim": 0.05,
            "group_shares": None,
            "answered": 0.9,
        },
        planning.write_plan: {"path": "plan.html", "plan": planning.plan_rows(0.02, 0.03), "overwrite": True},
        differentiable.catoni_bound: {**tensors, "c": torch.tensor(1.0)},
        differentiable.kl_inverse_lower: twins,
        differentiable.kl_inverse_upper: twins,
        differentiable.seeger_bound: {**tensors, "constant": "paper"},
    }


def _calls_of_layers(world):
    mean = torch.tensor([[0.5, -0.2]], dtype=torch.float64)
    answers = torch.tensor([0.5, -0.2], dtype=torch.float64)
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
    return {
        aggregation.Enumeration: {"max_width": 16},
        aggregation.Fourier: {"tolerance": 1e-6, "adaptive": False, "most_nodes": 64},
        aggregation.MonteCarlo: {"n_samples": 4, "generator": generator()},
        aggregation.choose_nodes: {"weight": ROW, "tolerance": 1e-6, "mean": mean, "limit": 64},
        aggregation.expected_sign: {"mean": mean, "weight": ROW, "method": "fourier"},
        aggregation.fourier_error_bound: {"weight": ROW, "step": 0.1, "n_nodes": 16, "mean": mean},
        aggregation.make_aggregation: {"method": "fourier", "tolerance": 1e-6},
        aggregation.propagate_error: {
            "weights": [ROW],
            "layer_errors": [torch.zeros(1, dtype=torch.float64)],
            "input_error": torch.zeros(2, dtype=torch.float64),
        },
        aggregation.sign_probabilities: {"mean": mean},
        aggregation.sign_vectors: {"d": 3, "dtype": torch.float64},
        networks.AggregatedNetwork: {
            "weights": [ROW],
            "prior_weights": [ROW],
            "intercept": True,
            "aggregation": "fourier",
            "patches": None,
        },
        networks.PatchShape.of: {"image_shape": (4, 4), "kernel": 2, "stride": 1, "pixel_scale": 1.0},
        networks.AggregatedNetwork.initialise: {
            "n_features": 3,
            "hidden_layer_sizes": (4,),
            "intercept": True,
            "generator": generator(),
        },
        networks.SignNetwork: {"weights": [ROW], "intercept": True},
        networks.TanhNetwork: {"weights": [ROW]},
        networks.SignNetwork([ROW], intercept=False).forward: {"x": mean},
        world.network.forward: {"x": mean.float()},
        networks.initial_weights: {
            "n_features": 3,
            "hidden_layer_sizes": (4,),
            "n_outputs": 1,
            "initialisation": "xavier_normal",
            "generator": generator(),
            "replicas": (2,),
            "intercept": True,
            "dtype": torch.float64,
            "device": "cpu",
            "patches": None,
        },
        networks.linear_loss: {"output": answers, "y": signs},
        networks.zero_one_loss: {"output": answers, "y": signs},
        networks.sign: {"a": answers},
        datasets.certified_split: {
            "dataset": world.breast,
            "seed": 0,
            "prior_fraction": 0.5,
            "scaling": "numeric",
        },
        load_dataset: {"name": "breast", "data_dir": None},
        load_mnist: {"negative": [1], "positive": [7], "data_dir": world.folder},
        datasets.load_packed: {"path": world.folder / "nothing", "names": ["breast"]},
        datasets.pack: {"datasets": [], "path": world.folder / "packed"},
        datasets.paper_split: {"dataset": world.breast, "seed": 0, "scaling": "paper"},
        datasets.training_subset: {"split": datasets.paper_split(world.breast, 0), "n": 50, "seed": 0},
    }


def _calls_of_certificates(world):
    pairs = {"X": X, "y": Y}
    fitted = pbgnet.PBGDClassifier(n_restarts=1, max_iter=3, random_state=0).fit(X, Y)
    table = pbgnet.TablePreprocessor().fit(X)
    loose = {"confidence": 0.95, "n_models": 1, "training_data": None}
    log = pbgnet.Monitor(world.predictions).save(world.folder / "log.json")
    return {
        pbgnet.Monitor: {"certified": world.predictions, "alpha": 0.01, "classes": None, "change": None},
        pbgnet.Monitor(world.predictions).update: {
            "y_true": [0, 1],
            "y_pred": [0, 1],
            "ids": ["a", "b"],
            "groups": None,
            "missing": "drop",
            "repeated": "skip",
        },
        pbgnet.Monitor(world.predictions).knows: {"ids": ["a"]},
        pbgnet.Monitor.resume: {"path": log, "certified": world.predictions},
        pbgnet.ChangeDetector: {
            "bin_rows": X,
            "reference": X,
            "alpha": 0.01,
            "bin_extra": None,
            "reference_extra": None,
            "random_state": 0,
        },
        pbgnet.ChangeDetector(X, X).update: {"X": X, "extra": None},
        pbgnet.Certificate.from_json: {"text": world.model.certificate.to_json()},
        pbgnet.certify: {
            "model": vote,
            **pairs,
            **loose,
            "classes": (0, 1),
            "class_conditional": False,
            "loss": None,
            "name": "a vote",
        },
        pbgnet.certify_selective: {
            "model": vote,
            **pairs,
            **loose,
            "error": 0.5,
            "scores": lambda model, rows: np.abs(rows[:, 0]),
            "thresholds": [1.0, 0.0],
            "classes": (0, 1),
        },
        pbgnet.certify_by_disagreement: {
            "certified_model": world.model,
            "predict": vote,
            "X": X + 1,
            "delta_share": 0.5,
            **loose,
        },
        certificates.load_certified: {"folder": world.folder / "model"},
        certificates.load_predictions: {"folder": world.folder / "predictions"},
        certificates.save_predictions: {
            "certified": world.predictions,
            "folder": world.folder / "answers",
            "overwrite": True,
        },
        export.export_onnx: {
            "model": world.model,
            "path": world.folder / "f.onnx",
            "network": "sign",
            "dtype": "float64",
            "opset": 20,
            "certificate": None,
            "overwrite": True,
        },
        export.OnnxClassifier: {
            "path": export.export_onnx(world.model, world.folder / "g.onnx"),
            "n_threads": 1,
        },
        export.OnnxClassifier(world.folder / "g.onnx").predict: {"X": X},
        certificates.by_hash_of: {"column": "id", "fraction": 0.5, "seed": 0},
        certificates.earliest_by: {"column": "day", "fraction": 0.5},
        certify_network: {"network": world.network, **pairs, **world.terms, "confidence": 0.95},
        pbgnet.load_model: {"folder": world.folder / "model"},
        pbgnet.save_model: {"model": world.model, "folder": world.folder / "again", "overwrite": True},
        pbgnet.verify: {"certified": world.model, **pairs, "reference": None},
        world.model.predict: {"X": X},
        world.model.predict_proba: {"X": X},
        world.model.decision_function: {"X": X},
        fit_pbgd: {**pairs, "c": 1.0, "confidence": 0.95, "n_restarts": 1, "n_priors": 1, "max_iter": 2},
        fit_pbgd_choices: {
            **pairs,
            "random_state": 0,
            "prior_rows": None,
            "objective": "bound",
            "device": "cpu",
        },
        fit_pbgnet: {**pairs, "hidden_layer_sizes": (2,), "prior_fraction": 0.5, "batch_size": 16},
        fit_images: {
            "X": X[:, :, None],
            "y": Y,
            "image_shape": (2, 1),
            "convolution": (2, 1, 1),
            "augmentation": "small",
        },
        fit_pipeline: {**pairs, "preprocessor": None, "prior_fraction": 0.5},
        fitted.predict: {"X": X},
        fitted.predict_proba: {"X": X},
        fitted.decision_function: {"X": X},
        fit_table: {"X": X, "max_categories": 255, "parse_numbers": False},
        table.transform: {"X": X},
        pbgnet.TablePreprocessor.from_dict: {"data": table.to_dict()},
        declaration.declare: {
            "certified": world.predictions,
            "answers": {"purpose": "To try."},
            "folder": "model",
            "targets": ["y"],
        },
        declaration.write_declaration: {
            "path": world.folder / "declaration.md",
            "declaration": declaration.declare(world.model),
            "overwrite": True,
        },
        declaration.to_markdown: {"declaration": declaration.declare(world.model)},
        declaration.to_html: {"declaration": declaration.declare(world.model)},
        report.render_report: {"certified": world.model, "history": [], **pairs, "tested": (1, 20)},
    }


def load_mnist(**arguments):
    return datasets.load_mnist(download=False, **arguments)  # the network is not to be asked


def load_dataset(**arguments):
    return datasets.load_dataset(download=False, **arguments)


def fit_pbgd(X, y, **parameters):
    return pbgnet.PBGDClassifier(random_state=0, **parameters).fit(X, y)


def fit_pbgd_choices(X, y, prior_rows, **parameters):
    return pbgnet.PBGDClassifier(n_restarts=1, max_iter=2, c=1.0, **parameters).fit(
        X, y, prior_rows=prior_rows
    )


def fit_pbgnet(X, y, **parameters):
    return pbgnet.PBGNetClassifier(max_epochs=1, random_state=0, **parameters).fit(X, y)


def fit_images(X, y, **parameters):
    return pbgnet.PBGNetClassifier(max_epochs=1, n_members=2, random_state=0, **parameters).fit(X, y)


def fit_pipeline(X, y, **parameters):
    classifier = pbgnet.PBGDClassifier(n_restarts=1, max_iter=2, c=1.0, random_state=0)
    return pbgnet.make_certified_pipeline(classifier, **parameters).fit(X, y)


def fit_table(X, **parameters):
    return pbgnet.TablePreprocessor(**parameters).fit(X)


def from_scikit_learn(error):
    """Whether scikit-learn's own checks of parameters and tables raised it, in its own words."""
    if not isinstance(error, ValueError | TypeError):
        return False
    frames = []
    trace = error.__traceback__
    while trace:
        frames.append(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return frames[-1].startswith("sklearn.utils")


def problem_of(function, arguments):
    try:
        with time_limit(MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**arguments)
    except PBGNetError:
        return None
    except Exception as error:
        return None if from_scikit_learn(error) else error
    return None


# What a function of the user's own raises is passed on as it is; int is such a function, and takes no rows.
PASSED_ON = {"certify(loss=class)", "certify_selective(scores=class)", "fit_images(augmentation=class)"}


def test_odd_arguments_have_typed_errors(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text is a fine place to write to
    found = []
    for function, arguments in calls.items():
        name = function.__qualname__
        problem = problem_of(function, arguments)
        assert problem is None, f"{name}: {problem!r}"
        for argument in arguments:
            for kind, value in ODD.items():
                error = problem_of(function, {**arguments, argument: value})
                call = f"{name}({argument}={kind})"
                if error is not None and call not in PASSED_ON:
                    found.append(f"{call}: {type(error).__name__}: {error!s:.100}")
    assert not found, f"{len(found)} untyped:\n" + "\n".join(found)


# Not walked, and why: what is only ever made by the package itself, or read as JSON and tested there.
NOT_WALKED = {
    "AnswerColumn": "checked in tests/cli/test_certify.py",
    "PBGNetMultilabelClassifier": "checked in tests/estimators/test_multilabel_classifier.py",
    "HeldOutPipeline": "its parameters are checked in tests/estimators/test_held_out_pipeline.py",
    "certify_fitted": "called by HeldOutPipeline",
    "check_label_options": "called by certify, which is walked",
    "has_several_labels": "called by certify, which is walked",
    "row_fingerprints": "called by certify, which is walked",
    "compare_classifiers": "checked in tests/estimators/test_alternatives.py",
    "exact_sum": "sums losses that were checked before",
    "distinct_labels": "called with labels that were checked before",
    "rows_to_fit": "called by CertifiedPipeline, which is fitted",
    "SignClassifier": "checked in tests/export/test_sign_classifier.py",
    "FourierNodes": "made by choose_nodes",
    "Dataset": "made by the loaders",
    "SourceRecord": "made by the loaders",
    "TrainTest": "made by the splits",
    "label_names": "called by PBGNetMultilabelClassifier with the labels it was given",
    "ImageDataset": "made by load_images",
    "load_images": "checked in tests/datasets",
    "LabelCode": "made from the labels of a table",
    "read_code": "reads what is stored, as loading a model does",
    "Code": "made by make_code, which is checked in tests/networks/test_codes.py",
    "make_code": "checked in tests/networks/test_codes.py",
    "Classes": "a record, checked in tests/certificates/data",
    "LabelledRows": "made by certify_network and the estimators",
    "Inputs": "a record, checked in tests/certificates/data",
    "PreparedTable": "made by certify_network and the estimators",
    "PriorRecord": "a record, checked in tests/certificates/format",
    "Split": "made by certify_network and the estimators",
    "SplitRecord": "a record, checked in tests/certificates/format",
    "Terms": "made by certify_network and the estimators",
    "describe_data": "called by certify, which is walked",
    "draw_prior_rows": "checked in tests/certificates/test_unclear_errors.py",
    "evaluate": "called by certify_network, which is walked",
    "fingerprint_tensors": "called with the weights of networks alone",
    "group_names": "called by Monitor.update, which is walked",
    "make_claim": "called by certify, which is walked",
    "count_probability": "called by clopper_pearson_bound, which is walked",
    "percent_up": "called with claimed bounds alone",
    "binomial_tail": "called by certify_selective, which is walked",
    "last_certified": "called by certify_selective, which is walked",
    "probability_thresholds": "called by certify_selective, which is walked",
    "score_thresholds": "called by certify_selective, which is walked",
    "spread_starts": "called by certify_selective, which is walked",
    "threshold_for": "called by certify_selective, which is walked",
    "measure_scores": "called by certify_selective, which is walked",
    "RowScores": "called by certify_selective, which is walked",
    "Groups": "made by read_groups, which certify calls with what it is given",
    "Wanted": "made by certify and the estimators",
    "round_down": "called with claimed bounds alone",
    "round_up": "called with claimed bounds alone",
}
FITTED = {
    "CertifiedPipeline",
    "PBGDClassifier",
    "PBGNetClassifier",
    "make_certified_pipeline",
    "TablePreprocessor",
}
"""Walked by fitting them: scikit-learn's classes look at their parameters then."""


def test_no_public_name_is_left_out(calls):
    rooms = (
        pbgnet,
        bounds,
        differentiable,
        aggregation,
        networks,
        certificates,
        datasets,
        estimators,
        export,
        planning,
        declaration,
        report,
    )
    walked = {part for function in calls for part in function.__qualname__.split(".")} | FITTED
    for room in rooms:
        names = getattr(room, "__all__", None) or [name for name in dir(room) if not name.startswith("_")]
        for name in names:
            value = getattr(room, name)
            own = getattr(value, "__module__", "").startswith("pbgnet")
            if callable(value) and own and ">>>" in (value.__doc__ or ""):  # what users call has an example
                assert name in walked or name in NOT_WALKED, f"{room.__name__}.{name} is not walked"
    assert not walked & set(NOT_WALKED)


def test_names_that_utf_8_cannot_write_are_kept(tmp_path):
    labels = np.array(["\ud800", "b"], dtype=object)[Y]
    estimator = pbgnet.PBGDClassifier(n_restarts=1, max_iter=2, c=1.0, random_state=0).fit(X, labels)
    estimator.save(tmp_path / "model")
    assert set(pbgnet.load_model(tmp_path / "model").classes) == {"\ud800", "b"}
    assert pbgnet.verify(tmp_path / "model", X, labels).ok
    with pytest.raises(DomainError, match="an ONNX file cannot store"):
        export.export_onnx(estimator.certified_model_, tmp_path / "f.onnx")
    with pytest.raises(DomainError, match="is not a valid file name"):
        estimator.save(tmp_path / "\ud800")


def test_layers_that_fit_no_machine_are_refused():
    with pytest.raises(MemoryLimitError, match="make the layers narrower"):
        fit_pbgnet(X, Y, hidden_layer_sizes=(10**12,))


def test_a_report_of_another_table_is_refused():
    model = pbgnet.PBGDClassifier(n_restarts=1, max_iter=2, c=1.0, random_state=0).fit(X, Y).certified_model_
    for rows, labels in ((X + 1, Y), (X[:5], Y[:5]), (X, 1 - Y)):
        with pytest.raises(UncertifiedError, match="not the table"):
            report.render_report(model, rows, labels)
