// The vector loops that score what a column of numbers may be read as. Part of loops.hpp, and
// compiled as that is. Entries are independent of each other; see choice.hpp for the formulas.

namespace tb {
namespace TB_ISA {
namespace {

inline double left_of(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
}

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

inline vec rows_left(vec whole, vec part) {
    const vec rest = whole - part;
    return rest <= RESIDUE * whole ? splat(0.0) : rest;
}

inline vec bin_share(const BinShares& s, const i32* b, const i32* k, vec w) {
    const vec zero = splat(0.0), row = gathered(s.row, k), prior = gathered(s.prior, k);
    const vec held = gathered(s.rows, k), one = row < w ? row : w, others = rows_left(held, one);
    const auto gone = others == zero;
    const vec count = rows_left(gone ? gathered(s.all, b) : w, one);
    const vec whole = gone ? rows_left(splat(s.everyone), one) : others;
    const vec mine = rows_left(prior, one) * (count + s.each) / (whole + s.strength);
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
            const double others = left_of(s.held[e], w);
            const double all = left_of(everyone, w);
            one[e] = w;
            mine[e] = left_of(s.prior[e], w);
            own_base[e] = (left_of(rows, w) + even) / (all + unit);
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
            own[e] = left_of(whole, one[e] / sum);
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

// exp x for x ≤ 0, to an ulp
void exps_of(i64 n, double* x) {
    i64 i = 0;
    for (; i + W <= n; i += W) store(x + i, exp_of(load(x + i)));
    if (i < n) {
        double rest[W];
        for (i64 l = 0; l < W; ++l) rest[l] = i + l < n ? x[i + l] : 0.0;
        store(rest, exp_of(load(rest)));
        for (i64 l = 0; i + l < n; ++l) x[i + l] = rest[l];
    }
}

}  // namespace
}  // namespace TB_ISA
}  // namespace tb
