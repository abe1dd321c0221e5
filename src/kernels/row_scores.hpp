// What terms add to the scores of rows, each row taken out of the counts: recomputed from tables
// and from P, so that nothing is kept of n·terms·classes.
#pragma once
#include <cmath>
#include <vector>

#include "pairs.hpp"

namespace tb {

constexpr i64 SCORED = 4096;  // rows of a task

// S[i, k] += W_k·(z_k − mean z) of what fill(i, v, z) says of each class, for rows with a cell.
template <class Fill>
void add_term(const i32* cell, i64 n, i64 K, const double* W, double* S, int allowed,
              const Fill& fill) {
    const i64 tasks = (n + SCORED - 1) / SCORED;
    run_tasks(tasks, threads_for(n * K * 4, tasks, allowed), [&](i64 task, int) {
        std::vector<double> z(K);
        const i64 end = (task + 1) * SCORED < n ? (task + 1) * SCORED : n;
        for (i64 i = task * SCORED; i < end; ++i) {
            if (cell[i] < 0) continue;
            fill(i, static_cast<i64>(cell[i]), z.data());
            double mean = 0.0;
            for (i64 k = 0; k < K; ++k) mean += z[k];
            mean /= static_cast<double>(K);
            double* s = S + i * K;
            for (i64 k = 0; k < K; ++k) s[k] += W[k] * (z[k] - mean);
        }
    });
}

// Of a column: z_k = log(C_vk / p_k), C the smoothed counts (cells, classes); what is removed of
// the row's own class is one row or less.
inline void add_column(const i32* cell, const i32* y, const double* removed, i64 n, i64 K,
                       const double* C, i64 cells, const double* p, double least, const double* W,
                       double* S, int allowed) {
    std::vector<double> full(cells * K), own(cells * K);
    const auto logarithm = [least](double c, double share) {
        return std::log((c > least ? c : least) / share);
    };
    for (i64 j = 0; j < cells * K; ++j) {
        full[j] = logarithm(C[j], p[j % K]);
        own[j] = logarithm(C[j] - 1.0, p[j % K]);
    }
    add_term(cell, n, K, W, S, allowed, [&](i64 i, i64 v, double* z) {
        for (i64 k = 0; k < K; ++k) z[k] = full[v * K + k];
        const i64 k = y[i], at = v * K + k;
        z[k] = removed[i] == 1.0 ? own[at] : logarithm(C[at] - removed[i], p[k]);
    });
}

// Of a pair: z_k = log((C − [k = y]·r + t_k) / (E − r·P_k + t_k)), r what is removed.
inline void add_pair(const i32* cell, const i32* y, const double* removed, const float* P, i64 n,
                     i64 K, const double* C, const double* E, i64 cells, const double* t,
                     const double* W, double* S, int allowed) {
    const PairLogs logs(C, E, cells, K, t);
    add_term(cell, n, K, W, S, allowed, [&](i64 i, i64 v, double* z) {
        logs.without(v, y[i], removed[i], P + i * K, z);
    });
}

}  // namespace tb
