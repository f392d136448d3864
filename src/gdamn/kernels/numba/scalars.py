"""exp and log in float32 as short polynomials that the compiler turns into vector code inside a loop.

The library's exp and log are calls, one number at a time; in loops over edges and classes they were most of the
time. Accurate to about 2 units in the last place on the ranges that the kernels use, provided that the caller is
compiled without reassociation (:func:`fast._elementwise`): the rounding trick and the two-part ln 2 depend on it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np

_f = np.float32
_LOG2E, _LN2_HIGH, _LN2_LOW = _f(1.4426950408889634), _f(0.693359375), _f(-2.12194440e-4)
_MAGIC = _f(12582912.0)  # 1.5 * 2^23: adding and subtracting it rounds to the nearest whole number
_E = [_f(v) for v in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)]
_E0, _E1, _E2, _E3, _E4, _E5 = _E
_L = [
    _f(v)
    for v in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
]
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = _L
_ZERO, _ONE, _HALF, _LOW, _HIGH, _TINY = _f(0), _f(1), _f(0.5), _f(-87.0), _f(88.0), _f(1.17549435e-38)
_SQRT_HALF_BITS, _ONE_BITS, _MANTISSA = np.int32(0x3F3504F3), np.int32(0x3F800000), np.int32(0x007FFFFF)
_BIAS, _SHIFT = np.int32(127), np.int32(23)


@numba.njit(inline="always")
def exp32(x):
    """e^x; below -87 it is e^-87 (about 1e-38), above 88 e^88. nan stays nan."""
    y = _LOW if x < _LOW else (_HIGH if x > _HIGH else x)
    k = (y * _LOG2E + _MAGIC) - _MAGIC
    r = y - k * _LN2_HIGH - k * _LN2_LOW
    p = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + _E5
    m = p * r * r + r + _ONE
    scale = np.int32((np.int32(k) + _BIAS) << _SHIFT).view(np.float32)
    return m * scale


@numba.njit(inline="always")
def log32(x):
    """Natural logarithm of a positive number; smaller than the smallest normal number counts as that."""
    y = x if x > _TINY else _TINY
    bits = np.float32(y).view(np.int32)
    shifted = np.int32(bits + (_ONE_BITS - _SQRT_HALF_BITS))
    e = np.int32((shifted >> _SHIFT) - _BIAS)
    m = np.int32((shifted & _MANTISSA) + _SQRT_HALF_BITS).view(np.float32) - _ONE
    z = m * m
    p = ((((((((_L0 * m + _L1) * m + _L2) * m + _L3) * m + _L4) * m + _L5) * m + _L6) * m + _L7) * m + _L8) * m * z
    k = np.float32(e)
    return (p + k * _LN2_LOW - _HALF * z) + m + k * _LN2_HIGH


@numba.njit(inline="always")
def sigmoid32(z):
    """1 / (1 + exp(-z))."""
    return _ONE / (_ONE + exp32(-z))


@numba.njit(inline="always")
def kl_gap(z, prior):
    """z - logit(ρ): how far a Bernoulli's logit is from its prior's; the KL's slope is σ(z) (1 - σ(z)) times it."""
    return z - log32(prior) + log32(_ONE - prior)


@numba.njit(inline="always")
def kl32(z, prior):
    """KL(Bernoulli(σ(z)) ‖ Bernoulli(ρ)) = σ(z) (z - logit ρ) - softplus(z) - log(1 - ρ)."""
    softplus = max(z, _ZERO) + log32(_ONE + exp32(-abs(z)))
    return sigmoid32(z) * kl_gap(z, prior) - softplus - log32(_ONE - prior)
