#!/usr/bin/env python3
"""tools/fit/fit.py -- the polynomial coefficients of lib/math, fitted again with Sollya.

    tools/fit/fit.py [name ..]      all rows of FITS, or those named

Each line of output is `name: log2 of the largest relative error: coefficients, lowest power first`. The fits are
minimax over the coefficients that the format can hold (Brisebarre and Chevillard, "Efficient polynomial L-infinity
approximations", ARITH 2007). The files of lib/math hold the coefficients as they are printed here; nothing in the
build runs this.
"""
import subprocess
import sys

import mpmath

LN2H = "log(2)/2*1.001"
EXP = f"[-{LN2H};{LN2H}]"
EXPZ = f"[1b-40;({LN2H})^2]"
PI4Z = "[1b-40;(pi/4)^2*1.002]"
LOG = "[sqrt(0.5)-1;sqrt(2)-1]"
LOGZ = "[1b-20;((sqrt(2)-1)/(sqrt(2)+1))^2*1.001]"
R = "sqrt(x)"
A = "(4*(1+x)/(1-x))"

# name: function of x, lowest and highest fitted power, bits of a coefficient, interval, the part that is not fitted
FITS = {
    # exponentials on [-ln 2 / 2, ln 2 / 2]; z = x^2 in the even and odd parts
    "exp_f32": ("exp(x)", 2, 6, 24, EXP, "1+x"),
    "exp_f64": ("exp(x)", 2, 11, 53, EXP, "1+x"),
    "expm1_f32": ("expm1(x)/x", 1, 6, 24, EXP, "1"),
    "expm1_f64": ("expm1(x)/x", 1, 11, 53, EXP, "1"),
    "exp2_f32": ("2^x", 1, 6, 24, "[-0.5;0.5]", "1"),
    "exp2_f64s": ("2^x", 1, 7, 53, "[-0.5;0.5]", "1"),
    "sinh_f32": (f"sinh({R})/{R}", 1, 3, 24, EXPZ, "1"),
    "cosh_f32": (f"cosh({R})", 2, 3, 24, EXPZ, "1+x/2"),
    "sinh_f64": (f"sinh({R})/{R}", 1, 6, 53, EXPZ, "1"),
    "cosh_f64": (f"cosh({R})", 2, 6, 53, EXPZ, "1+x/2"),
    "tanh_f32": (f"tanh({R})/{R}", 1, 6, 24, "[1b-40;0.65]", "1"),
    "tanh_f64": (f"tanh({R})/{R}", 1, 13, 53, "[1b-40;0.65]", "1"),
    # logarithms: of 1 + x, or of (1 + s) / (1 - s) with z = s^2
    "log_f32": ("log1p(x)/x", 2, 9, 24, LOG, "1-x/2"),
    "log_f64": (f"(log((1+{R})/(1-{R}))/{R}-2)/x", 0, 6, 53, LOGZ, "0"),
    "log_f64s": (f"atanh({R})/{R}", 1, 4, 53, LOGZ, "1"),
    "log_tail": (f"(atanh({R})/{R}-1-x/3)/x^2", 0, 8, 53, LOGZ, "0"),
    # circular functions on [-pi/4, pi/4], z = x^2
    "sin_f32": (f"sin({R})/{R}", 1, 3, 24, PI4Z, "1"),
    "cos_f32": (f"cos({R})", 2, 4, 24, PI4Z, "1-x/2"),
    "sin_f64": (f"sin({R})/{R}", 1, 6, 53, PI4Z, "1"),
    "cos_f64": (f"cos({R})", 2, 7, 53, PI4Z, "1-x/2"),
    "tan_f32": (f"tan({R})/{R}", 1, 7, 24, PI4Z, "1"),
    "tan_f64": (f"tan({R})/{R}", 1, 14, 53, PI4Z, "1"),
    "asin_f32": (f"asin({R})/{R}", 1, 5, 24, "[1b-40;0.25]", "1"),
    "asin_f64": (f"asin({R})/{R}", 1, 13, 53, "[1b-40;0.25]", "1"),
    "atan_f32": (f"atan({R})/{R}", 1, 9, 24, "[1b-40;1]", "1"),
    "atan_f64": (f"atan({R})/{R}", 1, 20, 53, "[1b-40;1]", "1"),
    "sinpi_f64": (f"sin(pi*{R})/(pi*{R})", 1, 8, 53, "[1b-40;0.25]", "1"),
    # x^(-1/3) on [1, 2]
    "rcbrt": ("x^(-1/3)", 0, 3, 24, "[1;2]", "0"),
    # error functions
    "erf_f32": (f"erf({R})/{R}", 0, 6, 24, "[1b-40;1]", "1"),
    "erf_f64": (f"erf({R})/{R}", 0, 12, 53, "[1b-40;1]", "1"),
    # -log(erfc(x)) / x, for erf beyond 1; t = (a - 4) / (a + 4) in (1 + 2 a) exp(a^2) erfc(a)
    "erf_tail_f32": ("-log(erfc(x))/x", 0, 8, 24, "[0.9;4]", "0"),
    "erfc_f32": (f"(1+2*{A})*exp({A}^2)*erfc({A})", 0, 10, 24, "[-0.64;0.44]", "0"),
    "erfc_f64": (f"(1+2*{A})*exp({A}^2)*erfc({A})", 0, 22, 53, "[-0.61;0.75]", "0"),
}

# name: function of x, highest power, interval. Sollya has no gamma function, so these are interpolated with mpmath
# in Chebyshev's nodes.
GAMMA_FITS = {
    "lgamma": (lambda x: mpmath.loggamma(2 + x) / x, 21, -0.75, 0.5),  # log Gamma(2 + x) = x * p(x)
    "tgamma": (lambda x: mpmath.gamma(2 + x), 19, -0.5, 0.5),
    # log Gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + p(1 / x^2) / x for x >= 8
    "stirling": (lambda z: stirling(1 / mpmath.sqrt(z)), 7, 1e-12, 1 / 64),
}

# name: function of x, degrees above and below, interval, the point that the powers are of, whether 1 is subtracted. Quotients of
# polynomials; with mpmath, as Sollya has no inverse error functions.
RATIONAL_FITS = {
    "erfinv_f32": (lambda t: erfinv_rest(t), 2, 3, 0, 0.5626, 0.28125, False),
    "erfinv_f64": (lambda t: erfinv_rest(t), 6, 6, 0, 0.5626, 0.28125, False),
    "erfcinv_f32": (lambda s: erfc_root(s) / s, 4, 5, 1.177, 10.3, 1.171875, True),
    "erfcinv_f64": (lambda s: erfc_root(s) / s, 8, 8, 1.177, 5.001, 1.171875, True),
    "erfcinv_f64_far": (lambda s: erfc_root(s) / s, 7, 7, 4.999, 27.4, 5, True),
}


def erfinv_rest(t):  # erfinv(x) = x (sqrt(pi) / 2 + t r(t)), t = x^2
    x = mpmath.sqrt(t)
    return (mpmath.erfinv(x) / x - mpmath.sqrt(mpmath.pi) / 2) / t


def erfc_root(s):  # z with erfc(z) = exp(-s^2)
    z = s - mpmath.mpf(1) / 3 if s < 2 else mpmath.sqrt(s * s - mpmath.log(s * mpmath.sqrt(mpmath.pi)))
    for _ in range(60):
        e = mpmath.erfc(z)
        step = (mpmath.log(e) + s * s) * e * mpmath.sqrt(mpmath.pi) * mpmath.exp(z * z) / 2
        z += step
        if abs(step) < mpmath.mpf(10) ** -40:
            break
    return z


def rational(function, above, below, low, high, middle, less_one):
    """Least squares with weights that grow where the error is large (Lawson), for the linear problem that P = f Q is."""
    n = 80
    with mpmath.workdps(45):
        low, high, middle = mpmath.mpf(low), mpmath.mpf(high), mpmath.mpf(middle)
        nodes = [(low + high - (high - low) * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
        values = [function(x) for x in nodes]
        powers = [[(x - middle) ** k for k in range(max(above, below) + 1)] for x in nodes]
        weights, q, best = [mpmath.mpf(1) / n] * n, [mpmath.mpf(1)] * n, None
        for _ in range(25):
            scale = [mpmath.sqrt(w) / (d * v) for w, d, v in zip(weights, q, values)]
            a = mpmath.matrix(
                [[s * p[k] for k in range(above + 1)] + [-s * v * p[k] for k in range(1, below + 1)]
                 for s, p, v in zip(scale, powers, values)]
            )  # fmt: skip
            b = mpmath.matrix([s * v for s, v in zip(scale, values)])
            x = list(mpmath.lu_solve(a.T * a, a.T * b))
            p, d = x[: above + 1], [mpmath.mpf(1), *x[above + 1 :]]
            q = [sum(c * t for c, t in zip(d, row)) for row in powers]
            errors = [abs(sum(c * t for c, t in zip(p, row)) / e / v - 1) for row, e, v in zip(powers, q, values)]
            if best is None or max(errors) < best[0]:
                best = max(errors), p, d
            weights = [w * (e / max(errors) + mpmath.mpf("1e-3")) for w, e in zip(weights, errors)]
            weights = [w / sum(weights) for w in weights]
        error, p, d = best
        if less_one:
            p = [(p[k] if k <= above else 0) - (d[k] if k <= below else 0) for k in range(max(above, below) + 1)]
        return float(mpmath.log(error, 2)), [f"{float(c):.17g}" for c in p] + ["/"] + [f"{float(c):.17g}" for c in d]


def stirling(x):
    return x * (mpmath.loggamma(x) - (x - 0.5) * mpmath.log(x) + x - mpmath.log(2 * mpmath.pi) / 2)


def interpolate(function, degree, low, high):
    n = degree + 1
    with mpmath.workdps(80):
        middle, half = mpmath.mpf(low + high) / 2, mpmath.mpf(high - low) / 2
        nodes = [middle + half * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
        powers = mpmath.matrix([[x**k for k in range(n)] for x in nodes])
        coefficients = [float(c) for c in mpmath.lu_solve(powers, mpmath.matrix([function(x) for x in nodes]))]
        error = mpmath.mpf(0)
        for k in range(1, 400):
            x = low + (high - low) * mpmath.mpf(k) / mpmath.mpf("400.5")
            value = function(x)
            error = max(error, abs((mpmath.polyval(coefficients[::-1], x) - value) / value))
        return float(mpmath.log(error, 2)), [f"{c:.17g}" for c in coefficients]


def sollya(script):
    text = "prec=250!;display=decimal!;verbosity=0!;\n" + script
    done = subprocess.run(["sollya"], input=text + "quit;\n", capture_output=True, text=True, check=True)
    return done.stdout.split()


def fit(function, low, high, bits, interval, fixed):
    powers = ",".join(str(p) for p in range(low, high + 1))
    formats = ",".join([str(bits)] * (high - low + 1))
    script = (
        f"f={function};p=fpminimax(f,[|{powers}|],[|{formats}|],{interval},floating,relative,{fixed});\n"
        f"log2(dirtyinfnorm((p-f)/f,{interval}));\n"
        f"for i from {low} to {high} do print(coeff(p-({fixed}),i));\n"
    )
    error, *coefficients = sollya(script)
    digits = 9 if bits == 24 else 17
    return float(error), [f"{float(c):.{digits}g}" for c in coefficients]


def main(names):
    for name in names or [*FITS, *GAMMA_FITS, *RATIONAL_FITS]:
        if name in FITS:
            error, coefficients = fit(*FITS[name])
        elif name in GAMMA_FITS:
            error, coefficients = interpolate(*GAMMA_FITS[name])
        else:
            error, coefficients = rational(*RATIONAL_FITS[name])
        print(f"{name}: {error:.1f}: {' '.join(coefficients)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
