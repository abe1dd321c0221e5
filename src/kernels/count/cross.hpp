// Cross moments of columns that are read together: n = Σw, S1 = Σw(x−c), S2 = Σw(x−c)(x−c)ᵀ, of
// which the lower triangle is kept, pair (i, j ≤ i) at i(i+1)/2 + j.
//
// Counting is as of moments: a class of a chunk is summed about a point near its rows, and chunks are
// merged in order, all in double-double. Only whole rows of pairs are vectorised, which adds nothing
// up in another order: the result depends neither on threads nor on instruction sets.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "count/moments.hpp"
#include "count/slots.hpp"

namespace tb {

constexpr i64 CROSS_ROWS = 8192;

inline i64 pairs_of(i64 d) { return d * (d + 1) / 2; }
inline i64 pair_at(i64 i, i64 j) { return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; }

// MomentTotals of products have n (classes,), s1 (classes, d) and s2 (classes, pairs).
// to += factor · from, both about the same origin.
inline void add_cross(const MomentTotals<double>& to, const MomentTotals<const double>& from,
                      double factor, i64 classes, i64 d) {
    const Double2 f{factor, 0.0};
    for (i64 k = 0; k < classes; ++k) to.set_n(k, to.n(k) + from.n(k) * f);
    for (i64 i = 0; i < classes * d; ++i) to.set_s1(i, to.s1(i) + from.s1(i) * f);
    for (i64 i = 0; i < classes * pairs_of(d); ++i) to.set_s2(i, to.s2(i) + from.s2(i) * f);
}

// S1 and S2 of one class, moved by delta (d,): S2_ij += δ_i S1_j + δ_j S1_i + nδ_iδ_j, S1 += nδ.
inline void move_cross(Double2 n, const Double2* delta, i64 d, Double2* s1, Double2* s2) {
    for (i64 i = 0; i < d; ++i) {
        const Double2 shifted = s1[i] + delta[i] * n;
        for (i64 j = 0; j <= i; ++j) {
            const i64 at = pair_at(i, j);
            s2[at] = s2[at] + (delta[i] * s1[j] + delta[j] * shifted);
        }
    }
    for (i64 i = 0; i < d; ++i) s1[i] = s1[i] + delta[i] * n;
}

// Moves the origin of totals: δ = old − new.
inline void rebase_cross(const MomentTotals<double>& t, const double* old_origin,
                         const double* new_origin, i64 classes, i64 d) {
    const i64 p = pairs_of(d);
    std::vector<Double2> delta(d), s1(d), s2(p);
    for (i64 j = 0; j < d; ++j) delta[j] = exact_sum(old_origin[j], -new_origin[j]);
    for (i64 k = 0; k < classes; ++k) {
        for (i64 i = 0; i < d; ++i) s1[i] = t.s1(k * d + i) + Double2{0.0, 0.0};
        for (i64 i = 0; i < p; ++i) s2[i] = t.s2(k * p + i) + Double2{0.0, 0.0};
        move_cross(t.n(k), delta.data(), d, s1.data(), s2.data());
        for (i64 i = 0; i < d; ++i) t.set_s1(k * d + i, s1[i]);
        for (i64 i = 0; i < p; ++i) t.set_s2(k * p + i, s2[i]);
    }
}

// Means (classes, d) and sums of squares and products about them (classes, d, d). What is below
// `residue` of the same sum about the origin is rounding and reads as 0, with all products of a
// column whose squares do; a class with n = 0 reads as the origin and 0.
inline void centre_cross(const MomentTotals<const double>& t, const double* origin, i64 classes,
                         i64 d, double residue, double* mean, double* scatter) {
    const i64 p = pairs_of(d);
    std::vector<Double2> m(d);
    for (i64 k = 0; k < classes; ++k) {
        double* S = scatter + k * d * d;
        if (t.n_hi[k] == 0.0) {
            for (i64 j = 0; j < d; ++j) mean[k * d + j] = origin[j];
            for (i64 i = 0; i < d * d; ++i) S[i] = 0.0;
            continue;
        }
        for (i64 j = 0; j < d; ++j) {
            m[j] = t.s1(k * d + j) / t.n(k);
            mean[k * d + j] = (m[j] + Double2{origin[j], 0.0}).hi;
            const Double2 about = t.s2(k * p + pair_at(j, j));
            const Double2 square = about + -(m[j] * t.s1(k * d + j));
            S[j * d + j] = std::fabs(square.hi) <= residue * std::fabs(about.hi) ? 0.0 : square.hi;
        }
        for (i64 i = 0; i < d; ++i)
            for (i64 j = 0; j < i; ++j) {
                const Double2 product = t.s2(k * p + pair_at(i, j)) + -(m[i] * t.s1(k * d + j));
                const double size = std::sqrt(std::fabs(t.s2_hi[k * p + pair_at(i, i)])) *
                                    std::sqrt(std::fabs(t.s2_hi[k * p + pair_at(j, j)]));
                const bool none = S[i * d + i] == 0.0 || S[j * d + j] == 0.0 ||
                                  std::fabs(product.hi) <= residue * size;
                S[i * d + j] = S[j * d + i] = none ? 0.0 : product.hi;
            }
    }
}

// Makes the products of marked columns (classes, d) zero about the mean: S2_ij = S1_i S1_j / n, for
// columns that settle at their mean.
inline void flatten_cross(const MomentTotals<double>& t, const std::uint8_t* marked, i64 classes,
                          i64 d) {
    const i64 p = pairs_of(d);
    for (i64 k = 0; k < classes; ++k)
        for (i64 i = 0; i < d; ++i)
            for (i64 j = 0; j < i; ++j) {
                if (!marked[k * d + i] && !marked[k * d + j]) continue;
                const bool none = t.n_hi[k] == 0.0;
                t.set_s2(k * p + pair_at(i, j),
                         none ? Double2{0.0, 0.0}
                              : t.s1(k * d + i) / t.n(k) * t.s1(k * d + j));
            }
}

// Adds one row of weight w to the totals of a class, in double-double.
inline void add_cross_row(const double* x, double w, const double* origin, i64 d, Double2* delta,
                          Double2& n, Double2* s1, Double2* s2) {
    n = n + Double2{w, 0.0};
    for (i64 i = 0; i < d; ++i) {
        delta[i] = exact_sum(x[i], -origin[i]);
        const Double2 weighted = delta[i] * Double2{w, 0.0};
        s1[i] = s1[i] + weighted;
        for (i64 j = 0; j <= i; ++j) s2[pair_at(i, j)] = s2[pair_at(i, j)] + weighted * delta[j];
    }
}

// Adds the rows x (n, d), taken about `origin` (d,), to `totals`. With a fault the totals are to be
// thrown away; with one chunk nothing at all is added then.
inline int count_cross(const Loops& loops, const double* x, i64 n, i64 d, const i32* codes, const double* weights,
                       i64 classes, const double* origin, const MomentTotals<double>& totals,
                       int threads) {
    struct alignas(APART) Local {
        Slots slots;
        Buffer<double> cells, weight, rest, apart;  // cells: of each class, as of cross_rows
        int fault = FINE;
    };
    const i64 p = pairs_of(d), size = 4 * d + 3 * p, chunks = (n + CROSS_ROWS - 1) / CROSS_ROWS;
    threads = threads_for(n * p, chunks, threads);
    std::vector<Local> locals(threads);
    std::vector<Double2> delta(d), s1(d), s2(p);
    int fault = FINE;
    run_in_order(
        chunks, threads,
        [&](i64 task, int thread) {
            Local& local = locals[thread];
            local.fault = FINE;
            const i64 r0 = task * CROSS_ROWS, rows = n - r0 < CROSS_ROWS ? n - r0 : CROSS_ROWS;
            const double* w = weights ? weights + r0 : nullptr;
            local.slots.number(codes + r0, w, rows, classes);
            const i64 used = local.slots.used;
            local.cells.resize(used * size);
            local.weight.resize(used), local.rest.resize(used), local.apart.resize(2 * d);
            for (i64 s = 0; s < used; ++s) {
                double* cells = local.cells.get() + s * size;
                for (i64 j = 0; j < d; ++j)
                    cells[j] =
                        local.slots.shift(s, [&](i64 row) { return x[(r0 + row) * d + j]; });
                for (i64 j = d; j < size; ++j) cells[j] = 0.0;
                local.weight[s] = w ? 0.0 : static_cast<double>(local.slots.rows(s));
                local.rest[s] = 0.0;
            }
            const i32* slot = local.slots.slot();
            for (i64 i = 0; w && i < rows; ++i) {
                if (w[i] != 0.0) {
                    add_exactly(local.weight[slot[i]], local.rest[slot[i]], w[i]);
                    continue;
                }
                const double* row = x + (r0 + i) * d;
                for (i64 j = 0; j < d; ++j) local.fault |= fault_of(row[j], Demand::finite);
            }
            loops.cross_rows(x + r0 * d, rows, d, slot, w, local.cells.get(), local.apart.get());
            for (i64 s = 0; s < used; ++s) {
                const double* cells = local.cells.get() + s * size;
                for (i64 j = 0; j < size; ++j) local.fault |= fault_of(cells[j], Demand::finite);
                for (i64 j = 0; j < d; ++j) {  // and what it becomes about the origin
                    const double moved = cells[j] - origin[j];
                    if (!(moved * moved * local.weight[s] + cells[4 * d + pair_at(j, j)] < 1e307))
                        local.fault |= NOT_FINITE;
                }
            }
        },
        [&](i64 task, int thread) {
            (void)task;
            Local& local = locals[thread];
            fault |= local.fault;
            if (fault) return;
            for (i64 s = 0; s < local.slots.used; ++s) {
                const double* cells = local.cells.get() + s * size;
                const i64 k = local.slots.class_of(s);
                const Double2 weight = exact_sum(local.weight[s], local.rest[s]);
                for (i64 j = 0; j < d; ++j) {
                    delta[j] = exact_sum(cells[j], -origin[j]);
                    s1[j] = whole_sum(cells + d + j, d);
                }
                for (i64 j = 0; j < p; ++j) s2[j] = whole_sum(cells + 4 * d + j, p);
                move_cross(weight, delta.data(), d, s1.data(), s2.data());
                totals.set_n(k, totals.n(k) + weight);
                for (i64 j = 0; j < d; ++j) totals.set_s1(k * d + j, totals.s1(k * d + j) + s1[j]);
                for (i64 j = 0; j < p; ++j) totals.set_s2(k * p + j, totals.s2(k * p + j) + s2[j]);
            }
        });
    return fault;
}

}  // namespace tb
