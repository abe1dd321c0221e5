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

// The share of the own class in what bins say of a row, which is taken out.
void bin_shares(const BinShares& s, i64 n, const i32* cell, const i32* of, const double* weight,
                double* TB_RESTRICT share) {
    const double each = s.each, S = s.strength, everyone = s.everyone;
    for (i64 e = 0; e < n; ++e) {
        const i64 k = of[e], b = cell[e];
        const double w = weight[e], row = s.row[k], prior = s.prior[k], held = s.rows[k];
        const double one = row < w ? row : w, others = left_of(held, one);
        const bool gone = others == 0.0;
        const double count = gone ? left_of(s.all[b], one) : left_of(w, one);
        const double whole = gone ? left_of(everyone, one) : others;
        const double rest = prior - one;
        const double mine = (rest < 0.0 ? 0.0 : rest) * (count + each) / (whole + S);
        const double full = prior * (w + each) / (held + S);
        share[e] = share_of(mine, s.said[b] - full);
    }
}

// What each entry gives to its own bin and others, at weight 1.
void spread_parts(i64 n, const i32* cell, const double* weight, const double* sum,
                  double* TB_RESTRICT part) {
    for (i64 e = 0; e < n; ++e) part[e] = weight[e] / sum[cell[e]];
}

// What a row leaves of the spread rows of its class, or of all where its class has no other.
void density_own(const DensityOwn& s, i64 n, const i32* cell, double* TB_RESTRICT own) {
    for (i64 e = 0; e < n; ++e) {
        const i64 b = cell[e];
        const double all = s.pooled[b], mine = s.spread[e];
        own[e] = left_of(s.gone[e] ? all : mine, s.one[e] / s.sum[b]);
    }
}

// The same of a smoothed density.
void density_shares(const DensityShares& s, i64 n, const i32* cell, double* TB_RESTRICT share) {
    const double S = s.strength;
    for (i64 e = 0; e < n; ++e) {
        const i64 b = cell[e];
        const double full = s.factor[e] * (s.spread[e] + s.base[b]);
        share[e] = share_of(s.mine[e] * (s.own[e] + S * s.own_base[e]), s.said[b] - full);
    }
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
