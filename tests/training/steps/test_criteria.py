"""What judges a batch: several outputs, the softmax of classes, and a temperature that is learned."""

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Enumeration
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork, LabelCode, make_code, prepare_rows
from pbgnet.training.solvers import Course, Journal, Problem, fit, polish
from pbgnet.training.steps import (
    LINEAR,
    Batches,
    LinearLoss,
    MarginCriterion,
    Portion,
    Seeger,
    SoftmaxCriterion,
    Stepper,
    criterion_mean,
    log_criterion,
)
from pbgnet.training.steps.data import TrainingData
from pbgnet.training.steps.evaluation import batch_gradients, empirical_loss, loss_and_gradients

CODE = make_code("hadamard", 4)


def make_classes(n=90, seed=0, dtype=torch.float64) -> tuple[TrainingData, np.ndarray]:
    """Four classes, one per quarter of the plane."""
    x = np.random.default_rng(seed).normal(size=(n, 2))
    places = (x[:, 0] > 0) + 2 * (x[:, 1] > 0)
    rows = prepare_rows(x, unit=True, intercept=True, dtype=dtype, device="cpu")
    return TrainingData(rows, torch.from_numpy(CODE.targets(places)).to(dtype)), places


def make_networks(n_replicas=2, hidden=(4,), dtype=torch.float64, **options) -> AggregatedNetwork:
    network = AggregatedNetwork.initialise(
        2,
        hidden,
        n_outputs=3,
        initialisation="standard_normal",
        generator=torch.Generator().manual_seed(0),
        replicas=(n_replicas,),
        dtype=dtype,
    )
    return AggregatedNetwork(list(network.weights), **options)


@pytest.mark.parametrize("hidden", [(), (4,), (3, 2)])
def test_gradients_of_several_outputs_are_those_of_enumeration(hidden):
    data, _ = make_classes(20)
    network = make_networks(hidden=hidden)
    reference = AggregatedNetwork(list(network.weights), aggregation=Enumeration())
    rows, y = data.rows.expand(2, -1, -1), data.y.expand(2, -1, -1)
    for criterion in (LINEAR, SoftmaxCriterion.of(CODE, 2, data.y), MarginCriterion.of(CODE)):
        found = batch_gradients(network, list(network.weights), rows, y, criterion)
        output = reference.output(rows, validate_args=False)
        slope = criterion.judge(output.detach(), y, None).slope
        expected = torch.autograd.grad(output, list(reference.weights), slope)
        for got, wanted in zip(found.by_weights, expected, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-7, atol=1e-9)


def test_the_exact_loss_is_a_mean_over_rows_and_outputs(monkeypatch):
    data, _ = make_classes()
    network = make_networks()
    output = network.output(data.rows).detach()
    expected = ((1 - data.y * output) / 2).mean(dim=(1, 2))
    torch.testing.assert_close(empirical_loss(network, data), expected)
    loss, gradients = loss_and_gradients(network, data)
    torch.testing.assert_close(loss, expected)
    monkeypatch.setattr("pbgnet.training.steps.evaluation.CHUNK_NUMBERS", {"cpu": 2000})
    in_chunks = loss_and_gradients(network, data)
    torch.testing.assert_close(in_chunks[0], expected)
    for one, other in zip(gradients, in_chunks[1], strict=True):
        torch.testing.assert_close(one, other)


def test_the_bound_is_minimised_with_the_mean_divergence_of_the_outputs():
    data, _ = make_classes(300)
    network = make_networks(1)
    objective = Seeger(network.prior_weights, len(data), 0.05)
    before = objective.value(empirical_loss(network, data), objective.penalty(list(network.weights)))
    polish(Problem(network, data, objective, torch.zeros(1).long(), torch.zeros(1)), 40, Journal(), "bound")
    penalty = objective.penalty(list(network.weights))
    after = objective.value(empirical_loss(network, data), penalty)
    assert after.item() < 0.8 * before.item()
    weights = [w.detach() for w in network.weights]
    moved = [(w - u).square().sum() for w, u in zip(weights, network.prior_weights, strict=True)]
    assert penalty.item() == pytest.approx(float(moved[0] + moved[1] / 3) / 2)
    torch.testing.assert_close(penalty, tree_divergence(weights, network.prior_weights))


def make_stepper(network, data, seeds, criterion, portion=None) -> Stepper:
    batches = Batches(data, 30, torch.tensor(seeds))
    objective = LinearLoss.of(list(network.weights), torch.zeros(len(seeds), dtype=torch.float64))
    running = torch.zeros(len(seeds), dtype=torch.float64)
    return Stepper(
        network, batches, objective, running, Portion(portion or len(seeds), "networks"), criterion
    )


def test_the_temperature_is_learned_by_each_replica_alone():
    data, _ = make_classes()
    together = SoftmaxCriterion.of(CODE, 2, data.y)
    network = make_networks()
    rate = torch.tensor([0.1, 0.02], dtype=torch.float64)
    stepper = make_stepper(network, data, [3, 4], together)
    losses = torch.stack([stepper.epoch(k, rate, [1.0] * 3, [1.0] * 3) for k in range(8)])
    assert (losses[-1] < losses[0]).all()
    learned = together.log_temperature
    assert (learned != SoftmaxCriterion.of(CODE, 2, data.y).log_temperature).all()
    for replica, seed in enumerate([3, 4]):
        one = torch.tensor([replica])
        alone, single = SoftmaxCriterion.of(CODE, 1, data.y), make_networks().take(one)
        stepper = make_stepper(single, data, [seed], alone)
        for k in range(8):
            stepper.epoch(k, rate[one], [1.0] * 3, [1.0] * 3)
        torch.testing.assert_close(alone.log_temperature, learned[one])
        for weight, wanted in zip(single.weights, network.weights, strict=True):
            torch.testing.assert_close(weight.detach(), wanted.detach()[one])


def test_replicas_in_portions_have_their_own_temperatures():
    data, _ = make_classes()
    weights = []
    for portion in (3, 2):
        network, criterion = make_networks(3), SoftmaxCriterion.of(CODE, 3, data.y)
        stepper = make_stepper(network, data, [0, 1, 2], criterion, portion)
        stepper.epoch(0, torch.full((3,), 0.1, dtype=torch.float64), [1.0] * 3, [1.0] * 3)
        weights.append([criterion.log_temperature.clone(), *(w.detach().clone() for w in network.weights)])
    for one, other in zip(*weights, strict=True):
        torch.testing.assert_close(one, other)


def test_some_replicas_go_on_with_their_temperatures():
    data, _ = make_classes()
    rate = torch.full((2,), 0.1, dtype=torch.float64)
    whole = make_stepper(make_networks(), data, [0, 1], SoftmaxCriterion.of(CODE, 2, data.y))
    whole.epoch(0, rate, [1.0] * 3, [1.0] * 3)
    part = whole.take(torch.tensor([1]))
    whole.epoch(1, rate, [1.0] * 3, [1.0] * 3)
    part.epoch(1, rate[:1], [1.0] * 3, [1.0] * 3)
    torch.testing.assert_close(part.criterion.learned()[0], whole.criterion.learned()[0][1:])
    for one, both in zip(part.weights, whole.weights, strict=True):
        torch.testing.assert_close(one, both[1:])


def test_cross_entropy_teaches_what_the_linear_loss_does_not():
    data, places = make_classes(400, dtype=torch.float32)
    errors = {}
    for name, criterion in {"linear": LINEAR, "softmax": SoftmaxCriterion.of(CODE, 1, data.y)}.items():
        network = make_networks(1, (8,), torch.float32)
        rates = torch.full((1,), 0.1, dtype=torch.float64)
        objective = LinearLoss.of(list(network.weights), torch.zeros(1, dtype=torch.float64))
        problem = Problem(network, data, objective, torch.zeros(1).long(), rates, criterion=criterion)
        fit(problem, Course(40, 20), Journal(), "x")
        output = network.output(data.rows)[0].detach().double().numpy()
        errors[name] = float(np.mean(CODE.decode(output) != places))
    assert errors["softmax"] < 0.05
    assert errors["softmax"] <= errors["linear"]


def test_each_label_is_judged_by_its_own_logarithm():
    y = torch.tensor([[1.0, -1.0], [-1.0, -1.0]], dtype=torch.float64)
    output = torch.tensor([[[0.5, 0.0], [-0.9, 0.2]]], dtype=torch.float64, requires_grad=True)
    judged = log_criterion(LabelCode(2), 1, y).judge(output.detach(), y, None)
    loss = -((1 + y * output) / 2).log().mean()
    loss.backward()
    assert judged.loss.item() == pytest.approx(loss.item())
    assert torch.allclose(judged.slope, output.grad)
    assert isinstance(log_criterion(CODE, 1, y), SoftmaxCriterion)
    assert not isinstance(log_criterion(make_code("auto", 2), 1, y), SoftmaxCriterion)


def test_margins_are_judged_by_their_derivative_and_by_what_the_lemma_needs():
    """The slope is that of the loss: rows below 1 - D are pushed with nearly all force, sure ones are not."""
    criterion, target = MarginCriterion.of(CODE), float(1 - CODE.distance)
    y = torch.from_numpy(CODE.targets(np.zeros(4, dtype=np.int64)))[None].double()
    agreement = torch.tensor([-1.0, target, 0.9, 1.0], dtype=torch.float64)
    output = (agreement[None, :, None] * y).requires_grad_()
    judged = criterion.judge(output, y, None)
    (slope,) = torch.autograd.grad(judged.loss.sum(), output)
    torch.testing.assert_close(judged.slope, slope)
    pushed = -(judged.slope * y).sum(dim=-1)[0] * 4
    assert pushed[0] > 0.999
    assert pushed[1] > 0.99, "where an error cannot be excluded"
    assert pushed[3] < 0.02, "where it can, by far"


def test_the_mean_by_a_criterion_is_that_of_all_rows(monkeypatch):
    data, _ = make_classes()
    network, criterion = make_networks(), MarginCriterion.of(CODE)
    expected = criterion.judge(network.output(data.rows).detach(), data.y.expand(2, -1, -1), None).loss
    torch.testing.assert_close(criterion_mean(network, data, criterion), expected)
    monkeypatch.setattr("pbgnet.training.steps.evaluation.CHUNK_NUMBERS", {"cpu": 2000})
    torch.testing.assert_close(criterion_mean(network, data, criterion), expected)
