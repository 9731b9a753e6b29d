"""Ray Train: the recipe of the documents, on a cluster of this machine with two workers."""

import numpy as np
import pytest

from pbgnet import PBGNetClassifier

ROWS, SETTINGS = 2600, {"hidden_layer_sizes": (4,), "n_members": 2, "max_epochs": 1, "random_state": 0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_two_workers_of_ray_train_one_model(monkeypatch, tmp_path):
    ray = pytest.importorskip("ray", reason="a cluster needs pbgnet[cluster]")
    torch_trainer = pytest.importorskip("ray.train.torch", reason="Ray Train is not installed")
    from ray.train import RunConfig, ScalingConfig

    for name in ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 3))
    y = np.where(x[:, 0] * x[:, 1] > 0, "yes", "no")

    def train(config):  # travels by value: a worker cannot import this file
        import numpy as np

        from pbgnet import PBGNetClassifier
        from pbgnet.workers import joined

        with joined() as workers:
            model = PBGNetClassifier(**config["settings"]).fit(config["x"], config["y"])
        np.savez(config["out"].format(workers.rank), *(w.detach().numpy() for w in model.network_.weights))

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        config = {"x": x, "y": y, "settings": SETTINGS, "out": str(tmp_path / "{}.npz")}
        trainer = torch_trainer.TorchTrainer(
            train,
            train_loop_config=config,
            scaling_config=ScalingConfig(num_workers=2),
            torch_config=torch_trainer.TorchConfig(backend="gloo"),
            run_config=RunConfig(storage_path=str(tmp_path / "ray"), name="pbgnet"),
        )
        trainer.fit()
    finally:
        ray.shutdown()
    alone = PBGNetClassifier(**SETTINGS).fit(x, y)
    for rank in range(2):
        found = np.load(tmp_path / f"{rank}.npz").values()
        for weight, other in zip(alone.network_.weights, found, strict=True):
            assert np.array_equal(weight.detach().numpy(), other)
