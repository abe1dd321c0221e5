// The vector loops of leave-one-out. Part of loops.hpp, and compiled as that is.
//
// A product of many factors is kept as a product of mantissas and a sum of exponents, so that one
// logarithm serves all of them; a sum over columns runs in 8 lanes whatever the registers hold.

namespace tb {
namespace TB_ISA {
namespace {

typedef u64 bits __attribute__((vector_size(8 * TB_WIDTH)));

constexpr double LEAST = 2.2250738585072014e-308;  // the least normal double
constexpr u64 MANTISSA = 0xfffffffffffffUL, ONE = 0x3ff0000000000000UL;

inline vec number(bits k) {  // of whole numbers below 2⁵²
    return (vec)(k | 0x4330000000000000UL) - 4503599627370496.0;
}

// Natural logarithm of x ≥ 0, log 0 = −∞, to an ulp: Sun's fdlibm, e_log.c.
//   x = 2^k (1 + f), √½ < 1 + f < √2;  s = f / (2 + f);  log(1 + f) = f − s (f − R(s²))
inline vec log_of(vec x) {
    const u64 half = 0x3fe6a09e667f3bcdUL;  // √½
    const auto tiny = x < LEAST;
    const vec normal = tiny ? x * 18014398509481984.0 : x;
    const bits i = (bits)normal + (ONE - half);
    const vec k = number(i >> 52) - (tiny ? splat(1077.0) : splat(1023.0));
    const vec f = (vec)((i & MANTISSA) + half) - 1.0;
    const vec s = f / (2.0 + f), z = s * s, w = z * z;
    const vec even = w * (3.999999999940941908e-01 +
                          w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const vec odd = z * (6.666666666666735130e-01 +
                         w * (2.857142874366239149e-01 +
                              w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const vec square = 0.5 * f * f;
    const vec low = s * (square + (even + odd)) + k * 1.90821492927058770002e-10;
    const vec found = k * 6.93147180369123816490e-01 - ((square - low) - f);
    return x == 0.0 ? splat(-__builtin_inf()) : found;
}

// x = log x.
void logs(i64 n, double* x) {
    i64 i = 0;
    for (; i + W <= n; i += W) store(x + i, log_of(load(x + i)));
    if (i < n) {
        double rest[W];
        for (i64 l = 0; l < W; ++l) rest[l] = i + l < n ? x[i + l] : 1.0;
        store(rest, log_of(load(rest)));
        for (i64 l = 0; i + l < n; ++l) x[i + l] = rest[l];
    }
}

// whole − part of weights; what can only be rounding is 0.
inline vec rest_of(vec whole, vec part) {
    const vec rest = whole - part, zero = splat(0.0);
    return rest <= RESIDUE * whole ? zero : rest;
}

// ---- Gaussian: one row and one class's columns --------------------------------------------------
// Of the statistics without the row (n → n·left, mean μ, squares S about it):
//   t = x − μ,  σ² = max(S − t²·moved, 0)·scale + ε,  quadratic = Σ t²·apart / σ²
// log Π σ² is log(product) + exponent·log 2; least is the least σ². Tables are padded to 8 columns
// with μ = S = 0 and ε = 1, which add nothing.
template <class T>
void density_less(const T* x, i64 d, const double* mean, const double* squares,
                  const double* epsilon, const Less& less, Density* out) {
    constexpr int R = 8 / W;
    vec product[R], quadratic[R], least[R];
    bits exponent[R];
    for (int v = 0; v < R; ++v) {
        product[v] = splat(1.0), quadratic[v] = splat(0.0), least[v] = splat(1.0);
        exponent[v] = bits{};
    }
    const vec moved = splat(less.moved), scale = splat(less.scale), apart = splat(less.apart);
    auto group = [&](i64 j, auto at) {
        for (int v = 0; v < R; ++v) {
            const i64 c = j + W * v;
            const vec t = load(at + W * v) - load(mean + c), square = t * t;
            const vec variance =
                rest_of(load(squares + c), square * moved) * scale + load(epsilon + c);
            quadratic[v] += square * apart / variance;
            least[v] = variance < least[v] ? variance : least[v];
            exponent[v] += (bits)variance >> 52;
            product[v] *= (vec)(((bits)variance & MANTISSA) | ONE);
        }
    };
    i64 j = 0;
    for (; j + 8 <= d; j += 8) group(j, x + j);
    if (j < d) {
        double rest[8];
        for (i64 l = 0; l < 8; ++l) rest[l] = j + l < d ? static_cast<double>(x[j + l]) : 0.0;
        group(j, static_cast<const double*>(rest));
    }
    double lanes[3][8];
    u64 sum = 0;
    for (int v = 0; v < R; ++v) {
        store(lanes[0] + W * v, product[v]);
        store(lanes[1] + W * v, quadratic[v]);
        store(lanes[2] + W * v, least[v]);
        for (i64 l = 0; l < W; ++l) sum += exponent[v][l];
    }
    *out = Density{1.0, 0.0, 0.0, 1.0};
    for (int l = 0; l < 8; ++l) {
        out->product *= lanes[0][l];
        out->quadratic += lanes[1][l];
        out->least = lanes[2][l] < out->least ? lanes[2][l] : out->least;
    }
    out->exponent = static_cast<double>(sum) - 1023.0 * static_cast<double>((d + 7) / 8 * 8);
}

// ---- complements: rows of entries, classes as lanes --------------------------------------------
// Σ x·log(table − w·x + α) over the entries of each row, and with Norm Σ log((table − w·x + α) /
// (table + α)). Nothing is taken from the lane of a row's own class. odd[i]: some number was not
// above 0 in a lane below `used`, and the row's sums are void.
template <int NV, bool Norm>
inline void complement_lanes(const EntryRows& rows, const i32* own, int used, const double* table,
                             const double* alpha, i64 step, double* raw, double* ratio,
                             unsigned char* odd) {
    constexpr int R = 8 * NV / W;
    bits lane[R];
    for (int v = 0; v < R; ++v)
        for (i64 l = 0; l < W; ++l) lane[v][l] = W * v + l;
    struct Product {  // of factors: mantissas and exponents, and logarithms of what was flushed
        vec log, mantissa;
        bits exponent;
        void multiply(vec q, int power) {
            const bits e = (bits)q >> 52;
            const vec m = (vec)(((bits)q & MANTISSA) | ONE);
            for (int i = 0; i < power; ++i) mantissa *= m, exponent += e;
        }
        void flush(i64 factors) {
            log += log_of(mantissa) +
                   (number(exponent) - 1023.0 * static_cast<double>(factors)) * 6.93147180559945286e-01;
            mantissa = splat(1.0), exponent = bits{};
        }
    };
    for (i64 i = 0; i < rows.n; ++i) {
        Product sum[R], change[Norm ? R : 1];
        bits others[R], low[R];
        for (int v = 0; v < R; ++v) {
            sum[v] = Product{splat(0.0), splat(1.0), bits{}};
            if (Norm) change[v] = sum[v];
            others[v] = (bits)(lane[v] != static_cast<u64>(static_cast<i64>(own[i])));
            low[v] = bits{};
        }
        i64 factors = 0, changes = 0;
        for (i64 p = rows.start[i]; p < rows.start[i + 1]; ++p) {
            const double x = rows.value[p], a = alpha[rows.index[p] * step];
            const double* row = table + static_cast<i64>(rows.index[p]) * (8 * NV);
            const vec taken = splat(rows.weight[i] * x);
            const int power = x == 1.0 ? 1 : x == 2.0 ? 2 : x == 3.0 ? 3 : x == 4.0 ? 4 : 0;
            for (int v = 0; v < R; ++v) {
                const vec whole = load(row + W * v);
                const vec q = rest_of(whole, (vec)((bits)taken & others[v])) + a;
                low[v] |= (bits)(q < LEAST);
                if (power)
                    sum[v].multiply(q, power);
                else
                    sum[v].log += log_of(q) * x;
                if (Norm) change[v].multiply(q / (whole + a), 1);
            }
            factors += power, ++changes;
            if (factors > 400 || changes > 400) {  // mantissas below 2: their product stays finite
                for (int v = 0; v < R; ++v) {
                    sum[v].flush(factors);
                    if (Norm) change[v].flush(changes);
                }
                factors = changes = 0;
            }
        }
        u64 any = 0;
        for (int v = 0; v < R; ++v) {
            sum[v].flush(factors);
            store(raw + (i * NV * 8 + W * v), sum[v].log);
            if (Norm) {
                change[v].flush(changes);
                store(ratio + (i * NV * 8 + W * v), change[v].log);
            }
            for (i64 l = 0; l < W; ++l)
                if (W * v + l < used) any |= low[v][l];
        }
        odd[i] = any != 0;
    }
}

void complement(int nv, bool norm, const EntryRows& rows, const i32* own, int used,
                const double* table, const double* alpha, i64 step, double* raw, double* ratio,
                unsigned char* odd) {
#define TB_LANES(NV)                                                                              \
    return norm ? complement_lanes<NV, true>(rows, own, used, table, alpha, step, raw, ratio, odd) \
                : complement_lanes<NV, false>(rows, own, used, table, alpha, step, raw, ratio, odd)
    switch (nv) {
    case 1: TB_LANES(1);
    case 2: TB_LANES(2);
    case 3: TB_LANES(3);
    default: TB_LANES(4);
    }
#undef TB_LANES
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
