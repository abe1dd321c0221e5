// A column of numbers as a density beside atoms, each class with some rows of all classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "view.hpp"

namespace tb {

// log p'(x | c) = log(M_c + share · Σ_c M_c) − shift_c. At atom a, low_a ≤ x < high_a, it is a row of
// the table atoms (n_atoms, classes); elsewhere log M_c = constant_c − ((x − mean_c) · scale_c)².
// Where no class has any mass x says nothing: 0.
struct PooledTerms {
    const double *low, *high, *atoms;
    i64 n_atoms;
    const double *constant, *mean, *scale, *shift;  // (classes,) each
    double share;
    i64 classes;

    void score(double x, double* out) const {
        if (n_atoms) {
            const i64 at = (std::upper_bound(low, low + n_atoms, x) - low) - 1;
            if (at >= 0 && x < high[at]) {
                std::copy_n(atoms + at * classes, classes, out);
                return;
            }
        }
        double top = -std::numeric_limits<double>::infinity();
        for (i64 k = 0; k < classes; ++k) {
            const double t = (x - mean[k]) * scale[k];
            out[k] = constant[k] - t * t;
            top = std::max(top, out[k]);
        }
        if (!(top > -std::numeric_limits<double>::infinity())) {
            std::fill_n(out, classes, 0.0);
            return;
        }
        double total = 0.0;
        for (i64 k = 0; k < classes; ++k) total += out[k] = std::exp(out[k] - top);
        const double pooled = share * total;
        for (i64 k = 0; k < classes; ++k) out[k] = (std::log(out[k] + pooled) + top) - shift[k];
    }
};

// scores (n, classes) += log p'(x | c) + there, or `gap` for NaN.
inline void pooled_scores(const double* x, i64 n, const PooledTerms& terms, const double* gap,
                          const double* there, double* scores, int threads) {
    constexpr i64 ROWS = 1 << 12;
    const i64 K = terms.classes, tasks = (n + ROWS - 1) / ROWS;
    run_tasks(tasks, threads_for(n * K * 16, tasks, threads), [&](i64 task, int) {
        const i64 end = std::min((task + 1) * ROWS, n);
        std::vector<double> share(static_cast<std::size_t>(K));
        for (i64 i = task * ROWS; i < end; ++i) {
            double* row = scores + i * K;
            if (x[i] == x[i]) {
                terms.score(x[i], share.data());
                for (i64 k = 0; k < K; ++k) row[k] += share[k] + there[k];
            } else {
                for (i64 k = 0; k < K; ++k) row[k] += gap[k];
            }
        }
    });
}

}  // namespace tb
