"""One training step for R networks that never waits for the device: eager on CPUs, a CUDA graph on GPUs.

Everything that a step reads or changes is in tensors on the device, including the number of the step, so that
the same code runs eagerly or is captured once and replayed.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from pbgnet.training.steps.adam import ReplicaAdam
from pbgnet.training.steps.capture import record_graph
from pbgnet.training.steps.criteria import LINEAR, Criterion
from pbgnet.training.steps.data import Batches
from pbgnet.training.steps.evaluation import Gradients, Trainable, batch_gradients, capturable
from pbgnet.training.steps.exact_sums import equal_pieces, mean_of_pieces
from pbgnet.training.steps.memory import Portion
from pbgnet.training.steps.objectives import Objective

# Steps in a CUDA graph: threads that train side by side take turns in Python, so each should need it rarely.
STEPS_PER_GRAPH = range(12, 25)

# A batch of at least this many rows is divided into lanes, which threads and workers share.
N_LANES, FEWEST_LANE_ROWS = 8, 256


def graph_sizes(n_steps: int) -> list[int]:
    """Divide the steps of an epoch between CUDA graphs, equally if possible: each length is recorded once."""
    size = max(STEPS_PER_GRAPH, key=lambda size: (n_steps % size == 0, size))
    whole, rest = divmod(n_steps, size)
    return [size] * whole + [rest] * bool(rest)


class Stepper:
    """Adam on mini-batches for R networks side by side, whose weights are changed in place.

    `running` is the initial value of the running average of the loss, float64 of shape (R,). The portion is
    the number of replicas that go through the network at a time. The criterion judges the outputs on a batch.
    """

    def __init__(
        self,
        network: Trainable,
        batches: Batches,
        objective: Objective,
        running: Tensor,
        portion: Portion,
        criterion: Criterion = LINEAR,
    ) -> None:
        self.network = network
        self.batches = batches
        self.objective = objective
        self.weights = [w.detach() for w in network.weights]
        self.portion = portion
        self.criterion = criterion
        self.running = running.clone()
        self.rate = torch.zeros_like(running)
        self.total = torch.zeros_like(running)
        self.adam = ReplicaAdam(self.weights, objective.anchors, objective.multiplicities())
        # Parameters of the objective and of the criterion, as matrices without a penalty.
        learned = [p.detach()[:, None, None] for p in (*objective.learned(), *criterion.learned())]
        self.learning = [ReplicaAdam([p], [torch.zeros_like(p)], [0.0]) for p in learned]
        self._ones = torch.ones_like(running)
        # Position in the epoch and steps since the beginning: views of one tensor, incremented together.
        self._counters = torch.zeros(2, dtype=torch.int64, device=running.device)
        self._position, self._n_steps = self._counters[:1], self._counters[1:]
        stretch = batches.stretch
        self._ramp, self._pace = running.new_empty(2, stretch)
        self._order = torch.empty(
            stretch, len(running), batches.size, dtype=torch.int64, device=running.device
        )
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}  # by the number of steps they take
        self._warm: int | None = None  # the portion whose steps were taken before they are recorded
        # Graphs that run one after the other, and keep nothing, may use the same memory.
        self._pool = torch.cuda.graph_pool_handle() if running.is_cuda else None
        # Only by the batch: the result must not depend on the number of threads and workers.
        self._has_lanes = batches.size >= N_LANES * FEWEST_LANE_ROWS and not network.generators()
        # The running average covers about half an epoch.
        self._horizon = min(1.0, 2.0 / len(batches))

    def epoch(
        self,
        number: int,
        rate: Tensor,
        ramp: Sequence[float],
        pace: Sequence[float],
        before_step: Callable[[], None] = lambda: None,
    ) -> Tensor:
        """Train for one epoch, whose number determines its permutation; return its mean loss, shape (R,).

        A learning rate of 0 leaves a replica unchanged. In each step the ramp is the weight of the penalty
        and the pace that of the rate. If `state` is in the middle of an epoch, the rest of it is trained.
        `before_step` is called before every step, except for those in a CUDA graph.
        """
        self.batches.begin(number)
        self.rate.copy_(rate)
        in_graphs = capturable(self.network, self.batches.data)
        begun = int(self._n_steps) % len(self.batches)
        if not begun:
            self.total.zero_()
        edges = [*range(begun, len(self.batches), len(self._order)), len(self.batches)]
        for first, last in pairwise(edges):
            count = last - first
            self._order[:count].copy_(self.batches.order(number, first, last))
            self._ramp[:count].copy_(torch.tensor(ramp[first:last], dtype=torch.float64))
            self._pace[:count].copy_(torch.tensor(pace[first:last], dtype=torch.float64))
            self._position.zero_()
            if in_graphs:
                for n_steps in graph_sizes(count):
                    self._captured(n_steps).replay()
            else:
                for _ in range(count):
                    before_step()
                    self._step()
        return self.total / len(self.batches)

    def take(self, replicas: Tensor) -> "Stepper":
        """Continue with some of the replicas."""
        other = Stepper(
            self.network.take(replicas),
            self.batches.take(replicas),
            self.objective.take(replicas),
            self.running[replicas],
            self.portion,
            self.criterion.take(replicas),
        )
        mine, theirs = [self.adam, *self.learning], [other.adam, *other.learning]
        for old, new in zip(mine, theirs, strict=True):
            new.take_moments(old, replicas)
        other._counters.copy_(self._counters)
        return other

    def _step(self) -> None:
        index = self._order.index_select(0, self._position)[0]
        found = self._gradients(index)
        self.running.lerp_(found.loss, self._horizon)
        self.total += found.loss
        slopes = self.objective.slopes_at(self.running, self.weights)
        pull = slopes.by_penalty * self._ramp.index_select(0, self._position)
        rate = self.rate * self._pace.index_select(0, self._position)
        self._counters += 1
        self.adam.step(found.by_weights, rate, slopes.by_loss, pull, self._n_steps)
        by_learned = [(slope, self._ones) for slope in slopes.by_learned]
        by_learned += [(slope, slopes.by_loss) for slope in found.by_learned]
        for adam, (slope, scale) in zip(self.learning, by_learned, strict=True):
            adam.step([slope[:, None, None]], rate, scale, self._ones, self._n_steps)

    def _gradients(self, index: Tensor) -> Gradients:
        """Loss and gradients of each replica on its batch; large batches are divided into lanes."""
        if not self._has_lanes:
            return self._gradients_on(index)
        size = -(-index.shape[1] // N_LANES)

        def of_lane(rows: slice) -> list[Tensor]:
            found = self._gradients_on(index[:, rows])
            return [found.loss, *found.by_learned, *found.by_weights]

        learned = self.criterion.learned()
        like = [self.running, *learned, *self.weights]
        operations = index.shape[1] * sum(w.numel() for w in self.weights)
        loss, *rest = mean_of_pieces(of_lane, equal_pieces(index.shape[1], size), like, operations)
        return Gradients(loss, rest[len(learned) :], rest[: len(learned)])

    def _gradients_on(self, index: Tensor) -> Gradients:
        """Loss and gradients on rows of an index (R, b); nothing is changed, so it can be repeated."""
        found: list[Gradients] = []

        def run() -> None:
            found.clear()
            edges = [*range(0, len(index), self.portion.size), len(index)]
            for low, high in pairwise(edges):
                rows, y = self.batches.at(index[low:high])
                weights, criterion, part = self.weights, self.criterion, None
                if len(edges) > 2:
                    part = slice(low, high)
                    weights, criterion = [w[part] for w in weights], criterion.take(part)
                row_weight = self.batches.weights_at(index[low:high])
                found.append(batch_gradients(self.network, weights, rows, y, criterion, row_weight, part))

        self.portion.attempt(run)
        return Gradients.joined(found)

    def _captured(self, n_steps: int) -> torch.cuda.CUDAGraph:
        if n_steps not in self._graphs:
            self.portion.attempt(lambda: self._capture(n_steps))
        return self._graphs[n_steps]

    def _capture(self, n_steps: int) -> None:
        """Record some steps; those that warm up the kernels are undone, even if memory runs out."""
        state = self.state()
        kept = [tensor.clone() for tensor in state]
        try:
            self._graphs[n_steps] = record_graph(
                lambda: self._take_steps(n_steps),
                self.running.device,
                warm_up=self._warm_up,
                generators=self.network.generators(),
                pool=self._pool,
            )
        finally:
            for tensor, value in zip(state, kept, strict=True):
                tensor.copy_(value)

    def _warm_up(self) -> None:
        for _ in range(0 if self._warm == self.portion.size else 2):
            self._position.zero_()  # an epoch may have only one step
            self._step()
        self._warm = self.portion.size

    def _take_steps(self, count: int) -> None:
        for _ in range(count):
            self._step()

    def state(self) -> list[Tensor]:
        """Return all tensors that a step changes; copying values into them restores a state."""
        optimisers = [self.adam, *self.learning]
        moments = [t for adam in optimisers for t in (*adam.parameters, *adam.first, *adam.second)]
        return [*moments, self.running, self.total, self._counters]
