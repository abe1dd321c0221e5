// What terms add to the scores of rows, each row taken out of the counts: recomputed from tables
// and from P, so that nothing is kept of n·terms·classes.
#pragma once
#include <cmath>
#include <vector>

#include "weighted/pair_gains.hpp"

namespace tb {

constexpr i64 SCORED = 4096;  // rows of a task

// add(i, v, s, z) for rows with a cell v, s the scores of row i and z room for a number a class.
template <class Add>
void over_cells(const i32* cell, i64 n, i64 K, double* S, int allowed, const Add& add) {
    const i64 tasks = (n + SCORED - 1) / SCORED;
    run_tasks(tasks, threads_for(n * K * 4, tasks, allowed), [&](i64 task, int) {
        std::vector<double> z(K);
        const i64 end = (task + 1) * SCORED < n ? (task + 1) * SCORED : n;
        for (i64 i = task * SCORED; i < end; ++i)
            if (cell[i] >= 0) add(i, static_cast<i64>(cell[i]), S + i * K, z.data());
    });
}

// Of a column: z_k = log(C_vk / p_k), C the smoothed counts (cells, classes), less what is removed of
// the row's own class.
inline void add_column(const i32* cell, const i32* y, const double* removed, i64 n, i64 K,
                       const double* C, i64 cells, const double* p, double least, const double* W,
                       double* S, int allowed) {
    std::vector<double> full(cells * K), more(cells * K), said(cells * K);
    const auto logarithm = [least](double c, double share) {
        return std::log((c > least ? c : least) / share);
    };
    const double share = 1.0 / static_cast<double>(K);
    for (i64 v = 0; v < cells; ++v) {
        double mean = 0.0;
        for (i64 k = 0; k < K; ++k) {
            const i64 at = v * K + k;
            full[at] = logarithm(C[at], p[k]);
            more[at] = logarithm(C[at] - 1.0, p[k]) - full[at];
            mean += full[at] * share;
        }
        for (i64 k = 0; k < K; ++k) said[v * K + k] = W[k] * (full[v * K + k] - mean);
    }
    if (K == 2) {  // by cell and class the difference of the second class to the first, halved
        std::vector<double> apart(cells * 2), with(cells);
        for (i64 v = 0; v < cells; ++v) {
            with[v] = 0.5 * (full[2 * v + 1] - full[2 * v]);
            apart[2 * v] = with[v] - 0.5 * more[2 * v];
            apart[2 * v + 1] = with[v] + 0.5 * more[2 * v + 1];
        }
        over_cells(cell, n, K, S, allowed, [&](i64 i, i64 v, double* s, double*) {
            const i64 at = 2 * v + y[i];
            double half = removed[i] == 0.0 ? with[v] : apart[at];
            if (removed[i] != 1.0 && removed[i] != 0.0) {
                const double own = logarithm(C[at] - removed[i], p[y[i]]);
                const double other = full[2 * v + 1 - y[i]];
                half = 0.5 * (y[i] == 1 ? own - other : other - own);
            }
            s[0] -= W[0] * half;
            s[1] += W[1] * half;
        });
        return;
    }
    over_cells(cell, n, K, S, allowed, [&](i64 i, i64 v, double* s, double*) {
        const i64 y_i = y[i], at = v * K + y_i;
        const double r = removed[i];
        const double apart = r == 1.0   ? more[at]
                             : r == 0.0 ? 0.0
                                        : logarithm(C[at] - r, p[y_i]) - full[at];
        const double mean = apart * share;
        for (i64 k = 0; k < K; ++k) s[k] += said[v * K + k] - W[k] * mean;
        s[y_i] += W[y_i] * apart;
    });
}

// Of a pair: z_k = log((C − [k = y]·r + t_k) / (E − r·P_k + t_k)), r what is removed.
inline void add_pair(const Loops& loops, const i32* cell, const i32* y, const double* removed,
                     const float* P, i64 n, i64 K, const double* C, const double* E, i64 cells,
                     const double* t, const double* W, double* S, int allowed) {
    if (K == 2) {
        const AlikePair pair(loops, y, removed, n, C, E, cells, t);
        if (pair.alike()) {
            const i64 tasks = (n + SCORED - 1) / SCORED;
            run_tasks(tasks, threads_for(n * 4, tasks, allowed), [&](i64 task, int) {
                const i64 begin = task * SCORED, end = begin + SCORED < n ? begin + SCORED : n;
                std::vector<double> half(end - begin);
                half_apart(loops, pair, cell, y, P, begin, end, half.data());
                for (i64 i = begin; i < end; ++i) {
                    S[2 * i] -= W[0] * half[i - begin];
                    S[2 * i + 1] += W[1] * half[i - begin];
                }
            });
            return;
        }
    }
    const PairLogs logs(C, E, cells, K, t);
    const double share = 1.0 / static_cast<double>(K);
    over_cells(cell, n, K, S, allowed, [&](i64 i, i64 v, double* s, double* z) {
        logs.without(v, y[i], removed[i], P + i * K, z);
        double mean = 0.0;
        for (i64 k = 0; k < K; ++k) mean += z[k];
        mean *= share;
        for (i64 k = 0; k < K; ++k) s[k] += W[k] * (z[k] - mean);
    });
}

}  // namespace tb
