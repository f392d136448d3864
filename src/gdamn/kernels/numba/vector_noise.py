"""Eight exponentials, and eight factors of dropout, as values in registers (:mod:`vector`).

The same numbers as :func:`scalars.exp32` up to its last bit, and as :func:`gdamn.kernels.noise.lanes` exactly. In loops
over few heads the compiler's own vector code leaves a rest of up to 31 numbers to be done one by one.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..noise import _GOLDEN, _M1, _M2, LANES
from . import scalars
from .vector import _CONTRACT, WIDTH, _pointer, _vector, float8

_ints, _longs = ir.VectorType(ir.IntType(32), WIDTH), ir.VectorType(ir.IntType(64), WIDTH)

MANY = WIDTH * LANES
"""Numbers whose dropout takes 8 hashes."""


def _same(kind, value):
    """A constant vector of equal numbers."""
    return ir.Constant(kind, [value] * WIDTH)


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _splat(builder, value, width=WIDTH):
    """A vector of equal numbers."""
    kind = ir.VectorType(value.type, width)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), places)


def _hashes(builder, keys, groups):
    """:func:`gdamn.kernels.noise.lanes` of eight keys and groups."""
    z = builder.add(groups, _same(_longs, 1))
    z = builder.add(keys, builder.mul(z, _same(_longs, _signed(_GOLDEN))))
    for shift, factor in ((30, _M1), (27, _M2), (31, None)):
        z = builder.xor(z, builder.lshr(z, _same(_longs, shift)))
        z = z if factor is None else builder.mul(z, _same(_longs, _signed(factor)))
    return z


@intrinsic
def exp8(typing, x):
    """e^x of each; below -87 it is e^-87, above 88 e^88. nan stays nan."""

    def code(context, builder, signature, values):
        def f(number):
            return _same(_vector, float(number))

        def fma(a, b, c):
            return builder.fadd(builder.fmul(a, b, flags=_CONTRACT), c, flags=_CONTRACT)

        (y,) = values
        y = builder.select(builder.fcmp_ordered(">", y, f(scalars._HIGH)), f(scalars._HIGH), y)
        y = builder.select(builder.fcmp_ordered("<", y, f(scalars._LOW)), f(scalars._LOW), y)
        k = builder.fsub(fma(y, f(scalars._LOG2E), f(scalars._MAGIC)), f(scalars._MAGIC))
        r = fma(k, f(-scalars._LN2_LOW), fma(k, f(-scalars._LN2_HIGH), y))
        p = f(scalars._E0)
        for coefficient in scalars._E[1:]:
            p = fma(p, r, f(coefficient))
        m = fma(builder.fmul(p, r), r, builder.fadd(r, f(1)))
        exponent = builder.add(builder.fptosi(k, _ints), _same(_ints, 127))
        return builder.fmul(m, builder.bitcast(builder.shl(exponent, _same(_ints, 23)), _vector))

    return float8(x), code


@intrinsic
def keep8(typing, keys, k, first, step, limit, scale):
    """Factors of dropout by the keys k to k + 7 at the places first, first + step, …: 0, or ``scale``."""

    def code(context, builder, signature, values):
        counts = ir.Constant(_longs, list(range(WIDTH)))
        at = builder.add(_splat(builder, values[2]), builder.mul(_splat(builder, values[3]), counts))
        group = builder.lshr(at, _same(_longs, LANES.bit_length() - 1))
        where = _pointer(context, builder, signature.args[:2], values[:2])
        z = _hashes(builder, builder.load(builder.bitcast(where, _longs.as_pointer()), align=8), group)
        lane = builder.shl(builder.and_(at, _same(_longs, LANES - 1)), _same(_longs, 4))
        bits = builder.and_(builder.lshr(z, lane), _same(_longs, 0xFFFF))
        stays = builder.icmp_unsigned(">=", bits, _splat(builder, values[4]))
        return builder.select(stays, _splat(builder, values[5]), _same(_vector, 0.0))

    return float8(keys, k, types.int64, types.int64, types.uint64, types.float32), code


@intrinsic
def drop32(typing, flat, out, at, key, group, limit, scale):
    """out[at : at + 32] = dropout of flat[at : at + 32], whose noise is that of the 8 hashes from ``group`` on."""

    def code(context, builder, signature, values):
        floats, bits = ir.VectorType(ir.FloatType(), MANY), ir.VectorType(ir.IntType(16), MANY)
        groups = builder.add(_splat(builder, values[4]), ir.Constant(_longs, list(range(WIDTH))))
        noise = builder.bitcast(_hashes(builder, _splat(builder, values[3]), groups), bits)
        least = _splat(builder, builder.trunc(values[5], ir.IntType(16)), MANY)
        places = [
            _pointer(context, builder, (kind, signature.args[2]), (value, values[2]))
            for kind, value in zip(signature.args[:2], values[:2], strict=True)
        ]
        source, target = (builder.bitcast(place, floats.as_pointer()) for place in places)
        x = builder.fmul(builder.load(source, align=4), _splat(builder, values[6], MANY))
        stays = builder.icmp_unsigned(">=", noise, least)
        builder.store(builder.select(stays, x, ir.Constant(floats, [0.0] * MANY)), target, align=4)
        return context.get_dummy_value()

    kinds = types.uint64, types.uint64, types.uint64, types.float32
    return types.void(flat, out, types.int64, *kinds), code
