// Scores of columns of numbers: as bins, as counts, and several columns together.
#pragma once
#include <atomic>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

// ---- bins ---------------------------------------------------------------------------------------
// Which bin of a column each number falls into, as entries of a table of log-probabilities.

// Edges with a length that is a power of two: what is beyond them is infinite, and so above every
// number. Every number then takes the same steps of a search.
struct Edges {
    i64 size = 1;
    Buffer<double> edge;

    Edges(const double* edges, i64 n) {
        while (size <= n) size *= 2;
        edge.resize(size);
        for (i64 i = 0; i < size; ++i)
            edge[i] = i < n ? edges[i] : std::numeric_limits<double>::infinity();
    }
};

// entry[i] = 1 + the number of edges ≤ x[i], one column; a missing value (NaN) has entry 0. Returns
// the fault of its values: infinity is one. Edges ascend.
template <class M>
int bin_entries(const M& x, const Edges& edges, i32* entry, int threads) {
    constexpr i64 ROWS = 1 << 14, TOGETHER = 64;
    const double* edge = edges.edge.get();
    std::atomic<int> fault{FINE};
    run_rows(x.n, ROWS, x.n * 4, threads, [&](i64 from, i64 end) {
        double value[TOGETHER];
        i64 below[TOGETHER];
        bool infinite = false;
        for (i64 i = from; i < end; i += TOGETHER) {
            const i64 rows = end - i < TOGETHER ? end - i : TOGETHER;
            x.read(i, rows, 0, value, 1);
            for (i64 r = 0; r < rows; ++r) below[r] = 0;
            // arithmetic in place of a branch, which nobody could guess; the steps of many rows
            // overlap, as they do not wait for each other
            for (i64 step = edges.size / 2; step; step /= 2)
                for (i64 r = 0; r < rows; ++r)
                    below[r] += step & -static_cast<i64>(edge[below[r] + step - 1] <= value[r]);
            for (i64 r = 0; r < rows; ++r) {
                const bool number = value[r] == value[r];
                infinite |= number && !is_finite(value[r]);
                entry[i + r] = number ? static_cast<i32>(1 + below[r]) : 0;
            }
        }
        if (infinite) fault |= NOT_FINITE;
    });
    return fault;
}

// ---- what counts say ----------------------------------------------------------------------------
// What counts say by a table of 0, 1, …: a column whose density has no simple form.

// Adds table[x[i]] (classes) to the scores (n, classes) of each row. A missing value (NaN) adds
// nothing. Other numbers that the table does not have, fractions among them, add nothing either and
// are marked in beyond (n).
inline void add_of_counts(const double* x, i64 n, const double* table, i64 known, i64 classes,
                          double* scores, unsigned char* beyond, int threads) {
    constexpr i64 ROWS = 1 << 13;
    const auto end_of_table = static_cast<double>(known);
    run_rows(n, ROWS, n * classes, threads, [&](i64 from, i64 end) {
        for (i64 i = from; i < end; ++i) {
            const bool inside = x[i] >= 0.0 && x[i] < end_of_table && x[i] == std::floor(x[i]);
            beyond[i] = !inside && x[i] == x[i];
            if (!inside) continue;
            const double* add = table + static_cast<i64>(x[i]) * classes;
            for (i64 k = 0; k < classes; ++k) scores[i * classes + k] += add[k];
        }
    });
}

// ---- columns that are read together -------------------------------------------------------------
// Scores of columns that are read together: a triangular rotation for each class.

// score_c(x) = Σ_j constant[c, j] − ½ r_j², r = rotation[c] (x − mean[c]), rotation lower triangular;
// with `freedom` ν_c, in place of −½ r_j², −½(ν+j) log(1 + q_j/ν) + ½(ν+j−1) log(1 + q_{j−1}/ν),
// q_j = r_1² + … + r_j²: the terms of a Student-t one after the other, which sum to the whole.
struct Triangular {
    const double *mean, *rotation, *constant, *freedom;  // freedom may be null
    i64 classes, d;

    // Adds to scores (classes,), and writes each column's share to shares (classes, d) if there.
    // `r` is room for d numbers.
    void score(const double* x, double* scores, double* shares) const {
        for (i64 k = 0; k < classes; ++k) {
            const double *m = mean + k * d, *R = rotation + k * d * d, *c = constant + k * d;
            double total = 0.0, q = 0.0;
            for (i64 j = 0; j < d; ++j, R += d) {
                double r = 0.0;
                for (i64 i = 0; i <= j; ++i) r += R[i] * (x[i] - m[i]);
                const double square = r * r;
                double share;
                if (!is_finite(q + square)) {  // too far away for float64: no probability
                    share = is_finite(q) ? -std::numeric_limits<double>::infinity() : c[j];
                    q = std::numeric_limits<double>::infinity();
                } else if (freedom) {
                    const double nu = freedom[k], half = 0.5 * (nu + static_cast<double>(j));
                    const double before = std::log1p(q / nu);
                    q += square;
                    share = c[j] - (half + 0.5) * std::log1p(q / nu) + half * before;
                } else {
                    q += square;
                    share = c[j] - 0.5 * square;
                }
                total += share;
                if (shares) shares[k * d + j] = share;
            }
            scores[k] += total;
        }
    }
};

inline void score_triangular(const Triangular& terms, const double* x, i64 n, double* scores,
                             double* shares, int threads) {
    const i64 K = terms.classes, d = terms.d;
    run_rows(n, 1024, n * K * d * d, threads, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i)
            terms.score(x + i * d, scores + i * K, shares ? shares + i * K * d : nullptr);
    });
}

}  // namespace tb
