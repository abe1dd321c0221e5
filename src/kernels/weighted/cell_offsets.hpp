// Corrections Q (cells, classes) of the scores of rows: what is added for each of a row's cells, which
// are numbered over all terms, −1 for none.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "simd/log_sum.hpp"

namespace tb {

struct CorrectedRows {
    static constexpr i64 FEWEST = 2048;  // of a task: its sums have to be cleared and added up
    const i32* cells;  // (n, terms)
    const double* S;   // (n, classes)
    const i32* y;
    const double* weight;
    i64 n, terms, classes;
    i64 step() const { return (n + 7) / 8 > FEWEST ? (n + 7) / 8 : FEWEST; }  // rows of a task
    i64 tasks() const { return (n + step() - 1) / step(); }
    i64 end(i64 task) const { return (task + 1) * step() < n ? (task + 1) * step() : n; }
};

// The log-loss of some rows of two classes, by the difference of the second to the first: q is
// (cells,), the gradient in it is added to g.
inline double correction_part_of_two(const CorrectedRows& rows, const double* q, i64 begin, i64 end,
                                     double* g) {
    const i64 terms = rows.terms;
    LogSum loss(2);
    double linear = 0.0;
    for (i64 i = begin; i < end; ++i) {
        if (rows.weight[i] == 0.0) continue;
        const i32* cell = rows.cells + i * terms;
        double even = rows.S[2 * i + 1] - rows.S[2 * i], odd = 0.0;
        i64 t = 0;
        for (; t + 2 <= terms; t += 2) {
            even += cell[t] < 0 ? 0.0 : q[cell[t]];
            odd += cell[t + 1] < 0 ? 0.0 : q[cell[t + 1]];
        }
        if (t < terms) even += cell[t] < 0 ? 0.0 : q[cell[t]];
        const double z = even + odd, w = rows.weight[i];
        const double e = std::exp(z < 0.0 ? z : -z), other = e / (1.0 + e);
        const bool second = rows.y[i] == 1;
        loss.add(rows.y[i], 1.0 + e, w);
        if (second == (z < 0.0)) linear += w * (z < 0.0 ? -z : z);
        const double p = z < 0.0 ? other : 1.0 - other;
        const double residual = second ? -w * (z < 0.0 ? 1.0 - other : other) : w * p;
        for (t = 0; t < terms; ++t)
            if (cell[t] >= 0) g[cell[t]] += residual;
    }
    return loss.value() + linear;
}

// Adds up what work(begin, end, sums) says of the tasks, in their order; it returns a number and adds
// to `size` sums, which add(sums) takes.
template <class Real, class Work, class Add>
double over_tasks(const CorrectedRows& rows, i64 size, int allowed, const Work& work,
                  const Add& add) {
    const i64 tasks = rows.tasks();
    const int threads = threads_for(rows.n * rows.classes * rows.terms, tasks, allowed);
    std::vector<InLines<Real>> part(threads);
    std::vector<double> found(tasks, 0.0);
    double total = 0.0;
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            part[thread].assign(size, Real(0));
            found[task] = work(task * rows.step(), rows.end(task), part[thread].data());
        },
        [&](i64 task, int thread) {
            total += found[task];
            add(part[thread].data());
        });
    return total;
}

// The same, added to numbers side by side.
template <class Work>
double over_tasks(const CorrectedRows& rows, i64 size, double* sums, int allowed, const Work& work) {
    return over_tasks<double>(rows, size, allowed, work, [=](const double* part) {
        for (i64 j = 0; j < size; ++j) sums[j] += part[j];
    });
}

// Log-loss and gradient of more than two classes, which are lanes of 32-bit floats.
inline double correction_of_many(const Loops& loops, const CorrectedRows& rows, const double* Q,
                                 double* gradient, i64 n_cells, int allowed) {
    const i64 K = rows.classes, wide = K <= 4 ? 4 : (K + 7) / 8 * 8;
    InLines<float> q((n_cells + 1) * wide, 0.0f);
    for (i64 v = 0; v < n_cells; ++v)
        for (i64 k = 0; k < K; ++k) q[v * wide + k] = static_cast<float>(Q[v * K + k]);
    const CellsOfRows all{rows.cells, rows.S,   rows.y,   rows.weight, rows.terms,
                          K,          q.data(), wide, n_cells};
    return over_tasks<float>(
        rows, (n_cells + 1) * wide, allowed,
        [&](i64 begin, i64 end, float* into) {
            std::vector<float> z((end - begin) * (wide < 8 ? 8 : wide));
            return loops.corrected_rows(all, begin, end, z.data(), into);
        },
        [&](const float* part) {
            for (i64 v = 0; v < n_cells; ++v)
                for (i64 k = 0; k < K; ++k) gradient[v * K + k] += part[v * wide + k];
        });
}

// Log-loss of scores S plus Q over the cells of each row, and its gradient in Q (n_cells, classes).
inline double correction_gradient(const Loops& loops, const CorrectedRows& rows, const double* Q,
                                  double* gradient, i64 n_cells, int allowed) {
    const i64 K = rows.classes;
    if (K == 2) {
        std::vector<double> q(n_cells), g(n_cells, 0.0);
        for (i64 v = 0; v < n_cells; ++v) q[v] = Q[2 * v + 1] - Q[2 * v];
        const double loss =
            over_tasks(rows, n_cells, g.data(), allowed, [&](i64 begin, i64 end, double* into) {
                return correction_part_of_two(rows, q.data(), begin, end, into);
            });
        for (i64 v = 0; v < n_cells; ++v) {
            gradient[2 * v] -= g[v];
            gradient[2 * v + 1] += g[v];
        }
        return loss;
    }
    return correction_of_many(loops, rows, Q, gradient, n_cells, allowed);
}

// into (n, classes) becomes what corrections Q add to the scores of rows.
inline void corrections_added(const i32* cells, i64 n, i64 terms, i64 K, const double* Q,
                              double* into, int allowed) {
    run_rows(n, 1024, n * terms * K, allowed, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
            double* sum = into + i * K;
            for (i64 k = 0; k < K; ++k) sum[k] = 0.0;
            for (i64 t = 0; t < terms; ++t) {
                const i32 cell = cells[i * terms + t];
                if (cell < 0) continue;
                const double* q = Q + cell * K;
                for (i64 k = 0; k < K; ++k) sum[k] += q[k];
            }
        }
    });
}

// The diagonal of the Hessian in Q at Q = 0: Σ w·P_k·(1 − P_k) over the rows of a cell.
inline void correction_curvature(const CorrectedRows& rows, double* diagonal, i64 n_cells,
                                 int allowed) {
    const i64 K = rows.classes, terms = rows.terms;
    over_tasks(rows, n_cells * K, diagonal, allowed, [&](i64 begin, i64 end, double* sums) {
        std::vector<double> z(K);
        for (i64 i = begin; i < end; ++i) {
            if (rows.weight[i] == 0.0) continue;
            const double* s = rows.S + i * K;
            double top = s[0], all = 0.0;
            for (i64 k = 1; k < K; ++k) top = s[k] > top ? s[k] : top;
            for (i64 k = 0; k < K; ++k) all += z[k] = std::exp(s[k] - top);
            for (i64 k = 0; k < K; ++k) {
                const double p = z[k] / all;
                z[k] = rows.weight[i] * p * (1.0 - p);
            }
            const i32* cell = rows.cells + i * terms;
            for (i64 t = 0; t < terms; ++t) {
                if (cell[t] < 0) continue;
                double* into = sums + cell[t] * K;
                for (i64 k = 0; k < K; ++k) into[k] += z[k];
            }
        }
        return 0.0;
    });
}

}  // namespace tb
