// Scores of columns that are read together: a triangular rotation for each class.
#pragma once
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

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
    const i64 step = 1024, K = terms.classes, d = terms.d, tasks = (n + step - 1) / step;
    run_tasks(tasks, threads_for(n * K * d * d, tasks, threads), [&](i64 task, int) {
        const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
        for (i64 i = task * step; i < end; ++i)
            terms.score(x + i * d, scores + i * K, shares ? shares + i * K * d : nullptr);
    });
}

}  // namespace tb
