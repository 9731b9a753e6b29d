# mypy: disable-error-code="import-untyped, no-untyped-def, untyped-decorator, no-any-return"
# Numba's convention: what it compiles, and what writes its code, has no types.

"""Vectors in Numba's loops: neighbouring numbers, held in registers.

If the compiler cannot exclude that arrays overlap, loops over them go through memory at every step. A vector
is a value of its own: sums over many rows of a table stay in registers, and the compiler splits it if
registers are narrower. The length of a vector is part of its type: functions receive a tuple with an entry
for every 16 bytes, `WIDE` or `NARROW`, and are compiled for each.
"""

import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

PIECE = 16  # bytes, within which processors shuffle fastest
WIDE = (0, 0, 0, 0)
NARROW = (0,)


class Vector(types.Type):
    """So many numbers of a type."""

    def __init__(self, number: types.Float, length: int) -> None:
        self.number, self.length = number, length
        super().__init__(name=f"Vector({number}, {length})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector) -> None:
        number = manager.lookup(vector.number).get_value_type()
        super().__init__(manager, vector, ir.VectorType(number, vector.length))


@intrinsic
def load(typing, array, at, pieces):
    """Return the vector of the numbers array[at], array[at + 1], ...; the array has one axis."""

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        address = _address(context, builder, signature.args[0], *arguments[:2])
        return _load(builder, address, kind)

    return _vector(_number(array), pieces)(array, types.int64, pieces), generate


@intrinsic
def store(typing, array, at, vector):
    """Write a vector to array[at], array[at + 1], ..."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments[:2])
        _store(builder, arguments[2], address)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@intrinsic
def entry(typing, array, at):
    """Return array[at] of a number that is not counted from the end."""

    def generate(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.int64), generate


@intrinsic
def spread(typing, number, pieces):
    """Return the vector that holds one number everywhere."""
    if not isinstance(number, types.Float):
        raise TypingError(f"a number is spread, got {number}")

    def generate(context, builder, signature, arguments):
        return _spread(builder, arguments[0], signature.return_type.length)

    return _vector(number, pieces)(number, pieces), generate


@intrinsic
def expect(typing, array, at):
    """Prefetch what is at array[at], which may be beyond the end of the array, for writing or reading."""

    def generate(context, builder, signature, arguments):
        address = _address(context, builder, signature.args[0], *arguments)
        whole, pointer = ir.IntType(32), address.type
        hint = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, whole, whole, whole]), "llvm.prefetch.p0"
        )
        builder.call(hint, [address, *(ir.Constant(whole, number) for number in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def turn_tile(typing, pieces, source, at, stride, last, target, to, to_stride, to_last):
    """Transpose a square of numbers, as many each way as a vector holds.

    Row q of the source begins at `at + min(q, last) * stride`. Row q of the target is column q of the source
    and is written to `to + min(q, to_last) * to_stride`, the last row first. Rows that are missing at the
    edge of a matrix are read as copies of its last row, and do not remain where it is written.
    """
    kinds = (
        pieces,
        source,
        types.int64,
        types.int64,
        types.int64,
        target,
        types.int64,
        types.int64,
        types.int64,
    )

    def generate(context, builder, signature, arguments):
        number, arguments = _number(source), arguments[1:]
        short = PIECE * 8 // number.bitwidth
        kind = ir.VectorType(context.get_value_type(number), short)
        starts = [_row(builder, row, *arguments[1:4]) for row in range(pieces.count * short)]
        turned = []
        for block in range(pieces.count):
            offset = ir.Constant(ir.IntType(64), block * short)
            places = [builder.add(start, offset) for start in starts]
            parts = [
                _load(builder, _address(context, builder, source, arguments[0], place), kind)
                for place in places
            ]
            rows = [_joined(builder, parts[row::short]) for row in range(short)]
            turned += _turned(builder, rows, short)
        for row in reversed(range(pieces.count * short)):
            place = _row(builder, row, *arguments[5:8])
            _store(builder, turned[row], _address(context, builder, target, arguments[4], place))
        return context.get_dummy_value()

    return types.void(*kinds), generate


def _joined(builder, parts):
    """Put vectors one behind the other."""
    while len(parts) > 1:
        size = 2 * parts[0].type.count
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [builder.shuffle_vector(*pair, _mask(list(range(size)))) for pair in pairs]
    return parts[0]


def _turned(builder, rows, short):
    """Transpose squares side by side in rows: by interleaving numbers, then pairs of them."""
    size, n_places = 1, rows[0].type.count
    while size < short:
        turned = []
        for q in range(0, short, 2 * size):
            for k in range(size):
                for high in (0, short // 2):
                    mask = [
                        place + number
                        for lane in range(high, n_places, short)
                        for run in range(lane, lane + short // 2, size)
                        for place in (run, n_places + run)
                        for number in range(size)
                    ]
                    turned.append(builder.shuffle_vector(rows[q + k], rows[q + k + size], _mask(mask)))
        rows, size = turned, 2 * size
    return rows


def _mask(places):
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)


def _row(builder, row, start, stride, last):
    number = ir.Constant(ir.IntType(64), row)
    clamped = builder.select(builder.icmp_signed("<", number, last), number, last)
    return builder.add(start, builder.mul(clamped, stride))


def _vector(number, pieces) -> Vector:
    return Vector(number, len(pieces) * PIECE * 8 // number.bitwidth)


def _number(array) -> types.Float:
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"):
        raise TypingError(f"vectors are taken from contiguous arrays of one axis, got {array}")
    return array.dtype


def _address(context, builder, array_type, array, at):
    base = context.make_array(array_type)(context, builder, array).data
    return builder.gep(base, [at])


def _load(builder, address, kind):
    vector = builder.load(builder.bitcast(address, kind.as_pointer()), typ=kind)
    vector.align = 4
    return vector


def _store(builder, vector, address):
    stored = builder.store(vector, builder.bitcast(address, vector.type.as_pointer()))
    stored.align = 4
    return stored


def _spread(builder, number, lanes):
    kind = ir.VectorType(number.type, lanes)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), _mask([0] * lanes))


for _operation, _instruction in ((operator.add, "fadd"), (operator.mul, "fmul")):

    @type_callable(_operation)
    def _type(context):
        def of(left, right):
            return left if isinstance(left, Vector) and left == right else None

        return of

    @lower_builtin(_operation, Vector, Vector)
    def _lower(context, builder, signature, arguments, instruction=_instruction):
        return getattr(builder, instruction)(*arguments, flags=["contract"])
