"""Eight float32 at once as a value that compiled loops can hold in a register, and a hint to fetch memory early.

The compiler turns simple loops into vector code by itself, but it writes a running sum back to memory after every
step, because it can't know that the arrays don't overlap. With these a loop keeps its sums in registers. They become
LLVM's ``<8 x float>``, which every processor has in one piece or in several: no machine code is named here.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from llvmlite import ir  # comes with numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

WIDTH = 8
"""Numbers in one vector."""

_CONTRACT = ("contract",)


class Float8(types.Type):
    """numba's type of eight float32."""

    def __init__(self) -> None:
        super().__init__(name="Float8")


float8 = Float8()
_vector = ir.VectorType(ir.FloatType(), WIDTH)
_i32 = ir.IntType(32)


@register_model(Float8)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _vector)


def _pointer(context, builder, kinds, values):
    """Address of array[i, h] (or array[i]); indices are never negative."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    at = [context.cast(builder, v, k, types.intp) for v, k in zip(values[1:], kinds[1:], strict=True)]
    return cgutils.get_item_pointer(context, builder, kinds[0], array, at, wraparound=False)


@intrinsic
def load8(typing, array, i, h):
    """array[i, h : h + 8]."""

    def code(context, builder, signature, values):
        place = _pointer(context, builder, signature.args, values)
        return builder.load(builder.bitcast(place, _vector.as_pointer()), align=4)

    return float8(array, i, h), code


@intrinsic
def store8(typing, array, i, h, vector):
    """array[i, h : h + 8] = vector."""

    def code(context, builder, signature, values):
        place = _pointer(context, builder, signature.args[:3], values[:3])
        builder.store(values[3], builder.bitcast(place, _vector.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, i, h, vector), code


@intrinsic
def splat8(typing, number):
    """Eight times the same float32."""

    def code(context, builder, signature, values):
        one = builder.insert_element(ir.Constant(_vector, ir.Undefined), values[0], ir.Constant(_i32, 0))
        return builder.shuffle_vector(
            one, ir.Constant(_vector, ir.Undefined), ir.Constant(ir.VectorType(_i32, WIDTH), [0] * WIDTH)
        )

    return float8(types.float32), code


@intrinsic
def fma8(typing, a, b, total):
    """a ⊙ b + total."""

    def code(context, builder, signature, values):
        product = builder.fmul(values[0], values[1], flags=_CONTRACT)
        return builder.fadd(product, values[2], flags=_CONTRACT)

    return float8(a, b, total), code


@intrinsic
def add8(typing, a, b):
    """a + b."""

    def code(context, builder, signature, values):
        return builder.fadd(values[0], values[1])

    return float8(a, b), code


@intrinsic
def mul8(typing, a, b):
    """a ⊙ b."""

    def code(context, builder, signature, values):
        return builder.fmul(values[0], values[1])

    return float8(a, b), code


@intrinsic
def div8(typing, a, b):
    """a / b."""

    def code(context, builder, signature, values):
        return builder.fdiv(values[0], values[1])

    return float8(a, b), code


@intrinsic
def max8(typing, a, b):
    """The larger of each two; b where one of them is nan."""

    def code(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return float8(a, b), code


@intrinsic
def min8(typing, a, b):
    """The smaller of each two; b where one of them is nan."""

    def code(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered("<", *values), *values)

    return float8(a, b), code


@intrinsic
def where8(typing, z, a, b):
    """a where z > 0, else b."""

    def code(context, builder, signature, values):
        zero = ir.Constant(_vector, [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered(">", values[0], zero), values[1], values[2])

    return float8(z, a, b), code


@intrinsic
def total8(typing, vector):
    """The sum of the eight, in halves: a fixed order."""

    def code(context, builder, signature, values):
        v, width = values[0], WIDTH
        while width > 1:
            width //= 2
            low = ir.Constant(ir.VectorType(_i32, width), list(range(width)))
            high = ir.Constant(ir.VectorType(_i32, width), list(range(width, 2 * width)))
            v = builder.fadd(builder.shuffle_vector(v, v, low), builder.shuffle_vector(v, v, high))
        return builder.extract_element(v, ir.Constant(_i32, 0))

    return types.float32(vector), code


@intrinsic
def prefetch(typing, array, i, h):
    """Have the memory at array[i, h] on its way to the cache; changes nothing else."""

    def code(context, builder, signature, values):
        byte = ir.PointerType(ir.IntType(8))
        place = builder.bitcast(_pointer(context, builder, signature.args, values), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, _i32, _i32, _i32])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = ir.Constant(_i32, 0), ir.Constant(_i32, 3), ir.Constant(_i32, 1)
        builder.call(hint, [place, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, i, h), code
