"""A thin layer over `onnx.helper`: values have names, and every operation returns a new one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.export.dependency import import_onnx

# The first operator set in which texts can be compared.
OLDEST_OPSET = 19


def check_opset(opset: object) -> int:
    """Return the version of the operator set if the installed library knows it."""
    newest = int(import_onnx().defs.onnx_opset_version())
    if isinstance(opset, bool) or not isinstance(opset, int):
        raise DtypeError(f"opset must be a whole number, got {opset!r} of type {type(opset).__name__}.")
    if not OLDEST_OPSET <= opset <= newest:
        raise DomainError(f"opset must be {OLDEST_OPSET} to {newest}, got {opset}.")
    return opset


class Graph:
    """An ONNX graph under construction, whose numbers are all of one type, float32 or float64."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self._onnx = import_onnx()
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, n_columns: int, dtype: Any = None) -> str:
        """Declare an input of shape (n, n_columns), for any n."""
        self._inputs.append(self._described(name, dtype, ["n", n_columns]))
        return name

    def output(self, name: str, value: str, dtype: Any = None, n_columns: int | None = None) -> None:
        """Declare a value of shape (n,), or (n, columns), as an output."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._described(name, dtype, ["n"] if n_columns is None else ["n", n_columns]))

    def constant(self, value: Any, name: str | None = None) -> str:
        """Store numbers in the precision of the graph."""
        return self.store(np.array(value, dtype=self.dtype), name)

    def indices(self, values: Sequence[int] | NDArray[np.int64]) -> str:
        """Store axes, sizes, positions or codes."""
        return self.store(np.array(values, dtype=np.int64))

    def store(self, array: NDArray[Any], name: str | None = None) -> str:
        """Store an array of numbers, truth values or texts in its own type."""
        name = name or f"constant_{len(self._constants) + 1}"
        # Older releases of the library only accept texts as objects.
        content = array.astype(object) if array.dtype.kind == "U" else array
        self._constants[name] = self._onnx.numpy_helper.from_array(content, name)
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation with one result, and return its name."""
        name = f"{kind.lower()}_{len(self._nodes) + 1}"
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def split(self, value: str, n_parts: int, axis: int) -> list[str]:
        """Split a value into equal parts along an axis."""
        names = [f"split_{len(self._nodes) + 1}_{k}" for k in range(n_parts)]
        node = self._onnx.helper.make_node("Split", [value], names, axis=axis, num_outputs=n_parts)
        self._nodes.append(node)
        return names

    def append(self, value: str, n_columns: int, fill: float, n_axes: int = 2) -> str:
        """Append columns of one number to the last axis."""
        if n_columns == 0:
            return value
        pads = [0] * (2 * n_axes - 1) + [n_columns]
        return self.op("Pad", value, self.indices(pads), self.constant(fill))

    def finish(self, name: str) -> Any:
        """Return the `GraphProto`."""
        return self._onnx.helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, initializer=list(self._constants.values())
        )

    def _described(self, name: str, dtype: Any, shape: list[int | str]) -> Any:
        kind = np.dtype(self.dtype if dtype is None else dtype)
        of_texts = kind.kind in "UO"
        helper = self._onnx.helper
        element = self._onnx.TensorProto.STRING if of_texts else helper.np_dtype_to_tensor_dtype(kind)
        return helper.make_tensor_value_info(name, element, shape)
