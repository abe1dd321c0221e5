// The vector loops of rows that are taken out of the counts, and of what a column of numbers may be read
// as. Part of loops.hpp, and compiled as that is.
//
// A product of many factors is kept as a product of mantissas and a sum of exponents, so that one
// logarithm serves all of them; a sum over columns runs in 8 lanes whatever the registers hold.

namespace tb::TB_ISA {
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

// x = f(x) for n numbers.
template <class F>
inline void in_place(i64 n, double* x, F f) {
    i64 i = 0;
    for (; i + W <= n; i += W) store(x + i, f(load(x + i)));
    if (i < n) {
        double rest[W];
        for (i64 l = 0; l < W; ++l) rest[l] = i + l < n ? x[i + l] : 0.0;
        store(rest, f(load(rest)));
        for (i64 l = 0; i + l < n; ++l) x[i + l] = rest[l];
    }
}

void logs(i64 n, double* x) {
    in_place(n, x, [](vec v) { return log_of(v); });
}

// whole − part of weights; what can only be rounding is 0.
inline vec rest_of(vec whole, vec part) {
    const vec rest = whole - part;
    return rest <= RESIDUE * whole ? splat(0.0) : rest;
}
inline double rest_of(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
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

void complement(int nv, bool norm, bool zeros, const EntryRows& rows, const i32* own, int used,
                const double* table, const double* alpha, i64 step, double* raw, double* ratio,
                unsigned char* odd) {
    by_width(nv, [&](auto width) {
        constexpr int NV = decltype(width)::count;
        auto* run = norm ? complement_lanes<NV, true> : complement_lanes<NV, false>;
        run(zeros, rows, own, used, table, alpha, step, raw, ratio, odd);
    });
}

// ---- densities beside atoms ---------------------------------------------------------------------
// Rows are lanes: what is said of a row depends on no other row. Tables of a block of n rows, a
// multiple of 8, stand class by class: entry k·n + r.

// exp x for x ≤ 0, to an ulp; 0 below −708: Sun's fdlibm, e_exp.c.
//   x = k log 2 + r, |r| ≤ ½ log 2;  exp r = 1 + (r c / (2 − c) + r), c = r − r² P(r²)
inline vec exp_of(vec x) {
    const vec magic = splat(6755399441055744.0);  // 1.5·2⁵²: rounds, its low bits are k
    const auto low = x < -708.0;
    const vec held = low ? splat(0.0) : x;
    const vec shifted = held * 1.44269504088896338700e+00 + magic, k = shifted - magic;
    const vec high = held - k * 6.93147180369123816490e-01, rest = k * 1.90821492927058770002e-10;
    const vec r = high - rest, t = r * r;
    const vec c = r - t * (1.66666666666666019037e-01 +
                           t * (-2.77777777770155933842e-03 +
                                t * (6.61375632143793436117e-05 +
                                     t * (-1.65339022054652515390e-06 +
                                          t * 4.13813679705723846039e-08))));
    const vec y = 1.0 - ((rest - (r * c) / (2.0 - c)) - high);
    const vec found = (vec)((bits)y + ((bits)shifted << 52));
    return low ? splat(0.0) : x == x ? found : x;
}

// mass = constant_k − ((x − mean_k)·scale_k)², log M_k of each row.
void pooled_mass(i64 n, i64 K, const double* x, const double* constant, const double* mean,
                 const double* scale, double* mass) {
    for (i64 k = 0; k < K; ++k, mass += n) {
        const vec c = splat(constant[k]), m = splat(mean[k]), s = splat(scale[k]);
        for (i64 r = 0; r < n; r += W) {
            const vec t = (load(x + r) - m) * s;
            store(mass + r, c - t * t);
        }
    }
}

// mass = ½ log square − quadratic.
void pooled_own(i64 n, const double* square, const double* quadratic, double* mass) {
    for (i64 r = 0; r < n; r += W)
        store(mass + r, 0.5 * log_of(load(square + r)) - load(quadratic + r));
}

// Of rows with use ≠ 0 and mass in some class, with top = max_k mass and e_k = exp(mass_k − top):
//   product_k *= e_k + share·Σ e,  sum_k += top − shift_k
// Other rows are left as they are, and use becomes 0 in rows without mass.
void pooled_mix(i64 n, i64 K, double* mass, double* use, const double* share, const double* shift,
                double* product, double* sum) {
    const vec lowest = splat(-__builtin_inf()), zero = splat(0.0);
    for (i64 r = 0; r < n; r += W) {
        vec top = lowest, total = zero;
        for (i64 k = 0; k < K; ++k) {
            const vec m = load(mass + k * n + r);
            top = top < m ? m : top;
        }
        const auto some = (load(use + r) != zero) & (top > lowest);
        top = some ? top : zero;
        store(use + r, some ? splat(1.0) : zero);
        for (i64 k = 0; k < K; ++k) {
            const vec e = exp_of(load(mass + k * n + r) - top);
            store(mass + k * n + r, e);
            total += e;
        }
        const vec pooled = load(share + r) * total;
        for (i64 k = 0; k < K; ++k) {
            const i64 at = k * n + r;
            const vec factor = load(mass + at) + pooled;
            store(product + at, load(product + at) * (some ? factor : splat(1.0)));
            store(sum + at, load(sum + at) + (some ? top - shift[k] : zero));
        }
    }
}

// sum += log product, and product = 1.
void pooled_logs(i64 n, double* product, double* sum) {
    for (i64 i = 0; i < n; i += W) {
        store(sum + i, load(sum + i) + log_of(load(product + i)));
        store(product + i, splat(1.0));
    }
}

// ---- cells --------------------------------------------------------------------------------------
// Entries are independent of each other; leave_one_out/choice.hpp has the formulas.

inline double share_of(double mine, double rest) {
    rest = rest < 0.0 ? 0.0 : rest;
    const double share = mine / (rest + mine);
    return mine > 0.0 ? share : 0.0;
}

inline vec gathered(const double* x, const i32* at) {
    vec found{};
    for (i64 l = 0; l < W; ++l) found[l] = x[at[l]];
    return found;
}

inline vec bin_share(const BinShares& s, const i32* b, const i32* k, vec w) {
    const vec zero = splat(0.0), row = gathered(s.row, k), prior = gathered(s.prior, k);
    const vec held = gathered(s.rows, k), one = row < w ? row : w, others = rest_of(held, one);
    const auto gone = others == zero;
    const vec count = rest_of(gone ? gathered(s.all, b) : w, one);
    const vec whole = gone ? rest_of(splat(s.everyone), one) : others;
    const vec mine = rest_of(prior, one) * (count + s.each) / (whole + s.strength);
    const vec full = prior * (w + s.each) / (held + s.strength);
    const vec more = gathered(s.said, b) - full, said = more < zero ? zero : more;
    return mine > zero ? mine / (said + mine) : zero;
}

// The share of the own class in what bins say of a row, which is taken out.
void bin_shares(const BinShares& s, i64 n, const i32* cell, const i32* of, const double* weight,
                double* TB_RESTRICT share) {
    i64 e = 0;
    for (; e + W <= n; e += W)
        store(share + e, bin_share(s, cell + e, of + e, load(weight + e)));
    i32 b[W], k[W];
    double w[W], found[W];
    for (i64 l = 0; l < W; ++l) {
        const bool some = e + l < n;
        b[l] = some ? cell[e + l] : 0, k[l] = some ? of[e + l] : 0;
        w[l] = some ? weight[e + l] : 1.0;
    }
    if (e < n) store(found, bin_share(s, b, k, load(w)));
    for (i64 l = 0; e + l < n; ++l) share[e + l] = found[l];
}

// Of entries that stand bin by bin: what is taken out of each with a row, what that leaves of its
// class, or of all where its class has no other row, and of the base of its bin.
void density_rows(const DensityRows& s, i64 bins, const i64* start, double* TB_RESTRICT one,
                  double* TB_RESTRICT mine, double* TB_RESTRICT left, double* TB_RESTRICT own_base,
                  double* TB_RESTRICT gone) {
    const double everyone = s.everyone, even = s.even, unit = s.unit;
    for (i64 b = 0; b < bins; ++b) {
        const double rows = s.rows[b];
        for (i64 e = start[b]; e < start[b + 1]; ++e) {
            const double w = s.row[e] < s.weight[e] ? s.row[e] : s.weight[e];
            const double others = rest_of(s.held[e], w);
            const double all = rest_of(everyone, w);
            one[e] = w;
            mine[e] = rest_of(s.prior[e], w);
            own_base[e] = (rest_of(rows, w) + even) / (all + unit);
            left[e] = others == 0.0 ? all : others;
            gone[e] = others == 0.0 ? 1.0 : 0.0;
        }
    }
}

// part / (whole + more)
void ratios(i64 n, const double* part, const double* whole, double more,
            double* TB_RESTRICT ratio) {
    for (i64 i = 0; i < n; ++i) ratio[i] = part[i] / (whole[i] + more);
}

// The rows of each entry's class, spread over neighbouring bins, in the entry's bin: for up to
// eight kernels at once, a lane each; `part` is for the entries of one class.
void spread_rows(const SpreadRows& s, i64 classes, i64 widths, double* part,
                 double* TB_RESTRICT spread, i64 step) {
    constexpr i64 LANES = 8, R = LANES / W;
    for (i64 k = 0; k < classes; ++k) {
        const i64 begin = s.start[k], n = s.start[k + 1] - begin;
        const i32* cell = s.cell + begin;
        for (i64 i = 0; i < n; ++i)
            for (i64 v = 0; v < R; ++v)
                store(part + i * LANES + v * W,
                      s.weight[begin + i] / load(s.sum + cell[i] * LANES + v * W));
        i64 low = 0;
        for (i64 e = 0; e < n; ++e) {
            const i64 a = cell[e];
            while (cell[low] < a - s.reach) ++low;
            vec total[R];
            for (i64 v = 0; v < R; ++v) total[v] = splat(0.0);
            for (i64 i = low; i < n && cell[i] <= a + s.reach; ++i) {
                const i64 apart = cell[i] < a ? a - cell[i] : cell[i] - a;
                for (i64 v = 0; v < R; ++v)
                    total[v] += load(s.by + apart * LANES + v * W) * load(part + i * LANES + v * W);
            }
            double* out = spread + s.at[begin + e];
            double lanes[LANES];
            for (i64 v = 0; v < R; ++v) store(lanes + v * W, total[v]);
            for (i64 l = 0; l < widths; ++l) out[l * step] = lanes[l];
        }
    }
}

// What a row leaves of the spread rows of its class, or of all where its class has no other.
void density_own(const DensityOwn& s, i64 bins, const i64* start, double* TB_RESTRICT own) {
    const double *spread = s.spread, *one = s.one, *gone = s.gone;
    for (i64 b = 0; b < bins; ++b) {
        const double all = s.pooled[b], sum = s.sum[b];
        for (i64 e = start[b]; e < start[b + 1]; ++e) {
            const double mine = spread[e], whole = gone[e] > 0.0 ? all : mine;
            own[e] = rest_of(whole, one[e] / sum);
        }
    }
}

// The share of the own class in what a smoothed density says of a row, which is taken out.
void density_shares(const DensityShares& s, i64 bins, const i64* start,
                    double* TB_RESTRICT share) {
    const double S = s.strength;
    for (i64 b = 0; b < bins; ++b) {
        const double base = s.base[b], said = s.said[b];
        for (i64 e = start[b]; e < start[b + 1]; ++e) {
            const double full = s.factor[e] * (s.spread[e] + base);
            share[e] = share_of(s.mine[e] * (s.own[e] + S * s.own_base[e]), said - full);
        }
    }
}

// Σ w log x of x ≥ 0, roughly: lanes and products are put together in any order. `few` says that
// weights are 1, 2, 3 or 4: then one logarithm serves many numbers.
double log_sum(i64 n, const double* weight, const double* x, bool few) {
    constexpr i64 AT_ONCE = 128;  // products of so many mantissas, to the fourth power, are numbers
    vec total = splat(0.0), product = splat(1.0), exponent = splat(0.0);
    auto add = [&](vec v, vec w) {
        if (!few) {
            total += w * log_of(v);
            return;
        }
        const bits i = (bits)v;
        const vec one = splat(1.0), m = v < LEAST ? splat(0.0) : (vec)((i & MANTISSA) | ONE);
        product *= m * ((w > 1.0 ? m : one) * ((w > 2.0 ? m : one) * (w > 3.0 ? m : one)));
        exponent += w * (number(i >> 52) - 1023.0);
    };
    for (i64 i = 0; i < n;) {
        const i64 end = n - i < AT_ONCE * W ? n : i + AT_ONCE * W;
        for (; i + W <= end; i += W) add(load(x + i), load(weight + i));
        if (i < end) {
            double last[W], of[W];
            for (i64 l = 0; l < W; ++l) {
                last[l] = i + l < end ? x[i + l] : 1.0;
                of[l] = i + l < end ? weight[i + l] : 1.0;
            }
            add(load(last), load(of));
            i = end;
        }
        total += log_of(product);
        product = splat(1.0);
    }
    total += exponent * 6.93147180559945286227e-01;
    double sum = 0.0;
    for (int l = 0; l < W; ++l) sum += total[l];
    return sum;
}

void exps_of(i64 n, double* x) {
    in_place(n, x, [](vec v) { return exp_of(v); });
}

// ---- one Gaussian for each class ----------------------------------------------------------------
inline vec greater_of(vec x, vec y) { return x < y ? y : x; }

// mass_k = constant_k − ((x − centre_k)·scale_k)², and the greatest of them
double gaussian_mass(i64 classes, double x, const double* constant, const double* centre,
                     const double* scale, double* TB_RESTRICT mass) {
    const vec at = splat(x);
    vec tops = splat(-__builtin_inf());
    i64 k = 0;
    for (; k + W <= classes; k += W) {
        const vec t = (at - load(centre + k)) * load(scale + k), m = load(constant + k) - t * t;
        store(mass + k, m);
        tops = m > tops ? m : tops;
    }
    double top = -__builtin_inf();
    for (i64 l = 0; l < W; ++l) top = tops[l] > top ? tops[l] : top;
    for (; k < classes; ++k) {
        const double t = (x - centre[k]) * scale[k], m = constant[k] - t * t;
        mass[k] = m;
        top = m > top ? m : top;
    }
    return top;
}

// Of the classes with rows in a cell: what is left of each without a row of it, `one`. `odd` is 1
// where that takes more than the sums of the classes. There is room for a multiple of 8.
void gaussian_left(const GaussianOthers& s, double x, i64 n, const i32* of, const double* one,
                   double* variance, double* square, double* rows, double* odd) {
    const vec zero = splat(0.0), unit = splat(1.0), at = splat(x);
    const vec smallest = splat(SMALLEST_NUMBER), least = splat(s.least);
    for (i64 i = 0; i < n; i += W) {
        const i32* k = of + i;
        const vec held = gathered(s.n, k), mean = gathered(s.mean, k), w = load(one + i);
        const vec left = rest_of(held, w), apart = at - mean;
        const vec taken = apart * apart * w * held / left;
        const vec rest = gathered(s.squares, k) - taken;
        const vec far = apart < 0.0 ? -apart : apart, off = mean < 0.0 ? -mean : mean;
        const vec digits = far / greater_of(far + off, smallest);
        const auto some = left > zero;
        const auto few = held > FEWER_DIGITS * left;
        const auto lost = some & ((taken > FEWER_DIGITS * rest * digits) | few);
        const vec centre = some ? mean - apart * w / left : mean;
        const vec own = some ? greater_of(rest, zero) : zero;
        const vec others = greater_of(gathered(s.rows, k) + left, smallest);
        const vec typical = (gathered(s.all_squares, k) + own) / others;
        const vec divisor = left - s.less, floor = greater_of(SPREADLESS * typical, smallest);
        const auto has = (divisor > HARDLY_ROWS * left) & (own > floor * left);
        const vec freedom = gathered(s.freedom, k);
        const vec found = (has ? own : gathered(s.spread, k)) / (has ? divisor : freedom);
        const auto by_own_class = has | (some & (freedom > zero));
        store(odd + i, (lost | ~by_own_class | (found < smallest)) ? unit : zero);
        const vec t = at - centre, v = greater_of(found, least);
        store(variance + i, v), store(square + i, t * t / v), store(rows + i, left);
    }
}

// The share of the own class of a row in what all say of it. There is room for a multiple of 8.
void gaussian_shares(const GaussianShares& s, i64 n, const i32* of, const double* one,
                     const double* mine, double* share) {
    for (i64 i = 0; i < n; i += W) {
        const i32* k = of + i;
        const vec w = load(one + i), m = load(mine + i), prior = gathered(s.prior, k);
        const vec left = rest_of(gathered(s.n, k), w);
        const vec pooled = s.pooled_rows * (gathered(s.mass, k) + m) / (s.everyone - w);
        const vec rest = gathered(s.scaled, k) + pooled * gathered(s.scale, k);
        const vec own = rest_of(prior, w) * (m + pooled) / (left + s.pooled_rows);
        const vec ratio = own / (own + rest);
        store(share + i, ratio == ratio ? ratio : prior / s.all_prior);
    }
}

}  // namespace
}  // namespace tb::TB_ISA
