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
// Eight numbers put together pair by pair.
template <class Op>
inline double fold(const double* a, Op op) {
    return op(op(op(a[0], a[4]), op(a[2], a[6])), op(op(a[1], a[5]), op(a[3], a[7])));
}

inline double plus(double a, double b) { return a + b; }
inline double times(double a, double b) { return a * b; }
inline double lesser(double a, double b) { return b < a ? b : a; }

// Of the statistics without the row (n → n·left, mean μ + rest, squares S about it):
//   t = x − μ,  S' = S − t²·moved,  σ² = max(S', 0)·scale + ε,  quadratic = Σ t²·apart / σ²
// log Π σ² is log(product) + exponent·log 2; least is the least σ². Where the difference S' has lost
// its digits, kept is below 0. The d columns are padded to a multiple of 8 with x = μ = S = 0 and
// ε = 1, which add nothing.
void density_less(const double* x, i64 d, const double* mean, const double* rest,
                  const double* squares, const double* epsilon, const Less& less, Density* out) {
    constexpr int R = 8 / W;
    vec product[R], quadratic[R], least[R], kept[R];
    bits exponent[R];
    for (int v = 0; v < R; ++v) {
        product[v] = splat(1.0), quadratic[v] = splat(0.0), least[v] = splat(1.0);
        kept[v] = splat(0.0), exponent[v] = bits{};
    }
    const vec moved = splat(less.moved), scale = splat(less.scale), apart = splat(less.apart);
    for (i64 j = 0; j < d; j += 8)
        for (int v = 0; v < R; ++v) {
            const i64 c = j + W * v;
            const vec t = (load(x + c) - load(mean + c)) - load(rest + c), square = t * t;
            const vec whole = load(squares + c), left = rest_of(whole, square * moved);
            const vec variance = left * scale + load(epsilon + c);
            const vec more = left - CANCELLED * whole;
            kept[v] = more < kept[v] ? more : kept[v];
            quadratic[v] += square * apart / variance;
            least[v] = variance < least[v] ? variance : least[v];
            exponent[v] += (bits)variance >> 52;
            product[v] *= (vec)(((bits)variance & MANTISSA) | ONE);
        }
    double lanes[4][8];
    u64 sum = 0;
    for (int v = 0; v < R; ++v) {
        store(lanes[0] + W * v, product[v]);
        store(lanes[1] + W * v, quadratic[v]);
        store(lanes[2] + W * v, least[v]);
        store(lanes[3] + W * v, kept[v]);
        for (i64 l = 0; l < W; ++l) sum += exponent[v][l];
    }
    out->product = fold(lanes[0], times);
    out->quadratic = fold(lanes[1], plus);
    out->least = fold(lanes[2], lesser);
    out->kept = fold(lanes[3], lesser);
    out->exponent = static_cast<double>(sum) - 1023.0 * static_cast<double>(d);
}

// Σ ((x − μ)·ρ)²·(1 − δρ + δ²ρ²): what a small change of ε does to another class; ρ is padded with 0.
double density_series(const double* x, i64 d, const double* mean, const double* share,
                      double delta) {
    constexpr int R = 8 / W;
    vec sum[R];
    for (int v = 0; v < R; ++v) sum[v] = splat(0.0);
    const vec small = splat(delta);
    for (i64 j = 0; j < d; j += 8)
        for (int v = 0; v < R; ++v) {
            const i64 c = j + W * v;
            const vec rho = load(share + c), t = (load(x + c) - load(mean + c)) * rho;
            const vec z = small * rho;
            sum[v] += t * t * (1.0 - z * (1.0 - z));
        }
    double lanes[8];
    for (int v = 0; v < R; ++v) store(lanes + W * v, sum[v]);
    return fold(lanes, plus);
}

// ---- complements: rows of entries, classes as lanes --------------------------------------------
// A product of up to 12 + 3 factors, each within 2^±PRODUCT_RANGE, before its exponent is taken out.
struct Product {
    vec log, factors;
    bits exponent;
    static Product none() { return {splat(0.0), splat(1.0), bits{}}; }
    void settle() {
        exponent += (bits)factors >> 52;
        factors = (vec)(((bits)factors & MANTISSA) | ONE);
    }
    vec total(i64 settled) const {  // how often it was settled: each exponent has a bias
        return log + log_of(factors) +
               (number(exponent) - 1023.0 * static_cast<double>(settled)) * 6.93147180559945286e-01;
    }
};

// Σ x·log(table − w·x + α) over the entries of each row, and with Norm Σ log((table − w·x + α) /
// (table + α)). Nothing is taken from the lane of a row's own class. With `zeros`, odd[i] says that
// a number in a lane below `used` was too small for a product: the row's sums are void.
template <int NV, bool Norm>
inline void complement_lanes(bool zeros, const EntryRows& rows, const i32* own, int used,
                             const double* table, const double* alpha, i64 step, double* raw,
                             double* ratio, unsigned char* odd) {
    constexpr int R = 8 * NV / W;
    constexpr i64 AHEAD = 8;
    constexpr double least = 1.0 / PRODUCT_RANGE;
    bits lane[R];
    for (int v = 0; v < R; ++v)
        for (i64 l = 0; l < W; ++l) lane[v][l] = W * v + l;
    const i64 last = rows.n ? rows.start[rows.n] : 0;
    for (i64 i = 0; i < rows.n; ++i) {
        Product sum[R], less[Norm ? R : 1], before[Norm ? R : 1];
        bits others[R];
        vec low[R];
        for (int v = 0; v < R; ++v) {
            sum[v] = Product::none();
            if (Norm) less[v] = before[v] = Product::none();
            others[v] = (bits)(lane[v] != static_cast<u64>(static_cast<i64>(own[i])));
            low[v] = splat(1.0);
        }
        i64 pending = 0, settled = 0;
        for (i64 p = rows.start[i]; p < rows.start[i + 1]; ++p) {
            const double x = rows.value[p], a = alpha[rows.index[p] * step], t = rows.weight[i] * x;
            const double* row = table + static_cast<i64>(rows.index[p]) * (8 * NV);
            if (p + AHEAD < last) {  // the table is larger than the caches
                const double* next = table + static_cast<i64>(rows.index[p + AHEAD]) * (8 * NV);
                for (int v = 0; v < NV; ++v) __builtin_prefetch(next + 8 * v);
            }
            const int power = x == 1.0 ? 1 : x == 2.0 ? 2 : x == 3.0 ? 3 : 0;
            for (int v = 0; v < R; ++v) {
                const vec whole = load(row + W * v);
                const vec rest = whole - (vec)((bits)splat(t) & others[v]);
                // all but rounding is taken; beside it `whole` is t
                const vec rounding = (vec)((bits)splat(RESIDUE * t) & others[v]);
                const vec q = (rest <= rounding ? splat(0.0) : rest) + a;
                low[v] = q < low[v] ? q : low[v];
                if (power == 1)
                    sum[v].factors *= q;
                else if (power == 2)
                    sum[v].factors *= q * q;
                else if (power == 3)
                    sum[v].factors *= q * q * q;
                else
                    sum[v].log += log_of(q) * x;
                if (Norm) less[v].factors *= q, before[v].factors *= whole + a;
            }
            pending += power > 1 ? power : 1;
            if (pending >= 12) {
                for (int v = 0; v < R; ++v) {
                    sum[v].settle();
                    if (Norm) less[v].settle(), before[v].settle();
                }
                pending = 0, ++settled;
            }
        }
        bool any = false;
        for (int v = 0; v < R; ++v) {
            sum[v].settle();
            store(raw + (i * NV * 8 + W * v), sum[v].total(settled + 1));
            if (Norm) {
                less[v].settle(), before[v].settle();
                store(ratio + (i * NV * 8 + W * v),
                      less[v].total(settled + 1) - before[v].total(settled + 1));
            }
            for (i64 l = 0; zeros && l < W; ++l) any |= W * v + l < used && low[v][l] < least;
        }
        odd[i] = any;
    }
}

template <int NV>
void complement_of(bool norm, bool zeros, const EntryRows& rows, const i32* own, int used,
                   const double* table, const double* alpha, i64 step, double* raw, double* ratio,
                   unsigned char* odd) {
    auto* run = norm ? complement_lanes<NV, true> : complement_lanes<NV, false>;
    run(zeros, rows, own, used, table, alpha, step, raw, ratio, odd);
}

void complement(int nv, bool norm, bool zeros, const EntryRows& rows, const i32* own, int used,
                const double* table, const double* alpha, i64 step, double* raw, double* ratio,
                unsigned char* odd) {
    auto* run = nv == 1   ? complement_of<1>
                : nv == 2 ? complement_of<2>
                : nv == 3 ? complement_of<3>
                          : complement_of<4>;
    run(norm, zeros, rows, own, used, table, alpha, step, raw, ratio, odd);
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
