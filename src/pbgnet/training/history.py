"""The course of a training, as data."""

from dataclasses import dataclass, field

from torch import Tensor

__all__ = ["History"]


@dataclass
class History:
    """One record per epoch or iteration, for all replicas.

    Attributes
    ----------
    records : list of dict
        Numbers and words describe the epoch as a whole; tensors of shape (R,) each replica.
    """

    records: list[dict[str, float | int | str | Tensor]] = field(default_factory=list)

    def append(self, **record: float | int | str | Tensor) -> None:
        """Add a record; tensors are detached and brought to the CPU."""
        self.records.append(
            {key: v.detach().cpu() if isinstance(v, Tensor) else v for key, v in record.items()}
        )

    def of_replica(self, replica: int) -> list[dict[str, float | int | str]]:
        """Return the records of one replica as plain numbers."""
        return [
            {key: v[replica].item() if isinstance(v, Tensor) else v for key, v in record.items()}
            for record in self.records
        ]
