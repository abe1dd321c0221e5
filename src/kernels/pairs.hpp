// Pairs of columns: what their joint cells say that the present model does not.
//
// With P the present leave-one-out probabilities (n rows, K classes), cell v of a pair has
//   C[v, k] = Σ w·[y = k],  E[v, k] = Σ w·P[i, k]        over the rows in it,
// and says log((C + t_k) / (E + t_k)) of class k; a row is taken out of both sums before it is
// scored itself. A cell of −1 says nothing.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "view.hpp"

namespace tb {

struct LabelledRows {
    const i32* y;
    const double* weight;
    const double* P;  // (n, classes)
    i64 n, classes;
};

// C and E, (cells, classes) each, of rows in these cells; both have to be zero before.
template <class Cell>
void count_residuals(const LabelledRows& rows, const Cell& cell, double* C, double* E) {
    const i64 K = rows.classes;
    for (i64 i = 0; i < rows.n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        const double w = rows.weight[i];
        C[v * K + rows.y[i]] += w;
        const double* p = rows.P + i * K;
        double* e = E + v * K;
        for (i64 k = 0; k < K; ++k) e[k] += w * p[k];
    }
}

// A running Σ w·log(x): logarithms of products, where the weight is 1, cost one for many rows.
class LogSum {
public:
    void add(double x, double w) {
        if (w != 1.0) {
            sum_ += w * std::log(x);
            return;
        }
        product_ *= x;
        if (!(product_ > 1e-200 && product_ < 1e200)) flush();
    }
    double value() {
        flush();
        return sum_;
    }

private:
    void flush() {
        sum_ += std::log(product_);
        product_ = 1.0;
    }
    double product_ = 1.0, sum_ = 0.0;
};

constexpr double LEAST = 1e-100;  // of a sum that rounding has left at or below zero

// Σ w·log(ratio_y / Σ_k P_k·ratio_k): how much the leave-one-out log-likelihood gains by the cells.
template <class Cell>
double residual_gain(const LabelledRows& rows, const Cell& cell, const double* C, const double* E,
                     const double* t) {
    const i64 K = rows.classes;
    LogSum gain;
    for (i64 i = 0; i < rows.n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        const double w = rows.weight[i];
        const double *p = rows.P + i * K, *c = C + v * K, *e = E + v * K;
        double total = 0.0, mine = 1.0;
        for (i64 k = 0; k < K; ++k) {
            const bool own = k == rows.y[i];
            const double expected = e[k] - w * p[k];
            const double count = own ? c[k] - w : c[k];
            const double ratio = ((count > 0.0 ? count : 0.0) + t[k]) /
                                 ((expected > 0.0 ? expected : 0.0) + t[k]);
            total += p[k] * ratio;
            if (own) mine = ratio;
        }
        gain.add((mine > LEAST ? mine : LEAST) / (total > LEAST ? total : LEAST), w);
    }
    return gain.value();
}

struct JointCell {  // the cell of two columns of small codes
    const std::uint8_t *a, *b;
    i64 width;
    i64 operator()(i64 i) const { return a[i] * width + b[i]; }
};

struct GivenCell {
    const i32* cell;
    i64 operator()(i64 i) const { return cell[i]; }
};

// gains (pairs, strengths) of pairs of columns; codes are (columns, n), t (strengths, classes).
inline void screen_pairs(const LabelledRows& rows, const std::uint8_t* codes, const i64* size,
                         const i32* pairs, i64 n_pairs, const double* t, i64 strengths,
                         double* gains, int allowed) {
    const i64 K = rows.classes;
    const int threads = threads_for(n_pairs * rows.n * K * (2 + strengths), n_pairs, allowed);
    run_tasks(n_pairs, threads, [&](i64 q, int) {
        const i64 a = pairs[2 * q], b = pairs[2 * q + 1];
        std::vector<double> C(size[a] * size[b] * K, 0.0), E(C.size(), 0.0);
        const JointCell cell{codes + a * rows.n, codes + b * rows.n, size[b]};
        count_residuals(rows, cell, C.data(), E.data());
        for (i64 s = 0; s < strengths; ++s)
            gains[q * strengths + s] = residual_gain(rows, cell, C.data(), E.data(), t + s * K);
    });
}

// What each row's cell says of each class with the row taken out, centred over classes: (classes, n)
template <class Cell>
void residual_values(const LabelledRows& rows, const Cell& cell, const double* C, const double* E,
                     const double* t, float* values, int allowed) {
    const i64 K = rows.classes, step = 4096, tasks = (rows.n + step - 1) / step;
    run_tasks(tasks, threads_for(rows.n * K * 8, tasks, allowed), [&](i64 task, int) {
        std::vector<double> z(K);
        const i64 end = (task + 1) * step < rows.n ? (task + 1) * step : rows.n;
        for (i64 i = task * step; i < end; ++i) {
            const i64 v = cell(i);
            double mean = 0.0;
            for (i64 k = 0; k < K; ++k) {
                z[k] = 0.0;
                if (v < 0) continue;
                const double w = rows.weight[i], expected = E[v * K + k] - w * rows.P[i * K + k];
                const double count = C[v * K + k] - (k == rows.y[i] ? w : 0.0);
                z[k] = std::log(((count > 0.0 ? count : 0.0) + t[k]) /
                                ((expected > 0.0 ? expected : 0.0) + t[k]));
                mean += z[k] / static_cast<double>(K);
            }
            for (i64 k = 0; k < K; ++k) values[k * rows.n + i] = static_cast<float>(z[k] - mean);
        }
    });
}

// Log-loss Σ w·(log Σ exp S − S_y) of scores (classes, n); R becomes w·(softmax − [k = y]).
inline double softmax_residuals(const double* S, const i32* y, const double* weight, i64 n, i64 K,
                                float* R, int allowed) {
    const i64 step = 4096, tasks = (n + step - 1) / step;
    const int threads = threads_for(n * K * 16, tasks, allowed);
    std::vector<double> loss(tasks, 0.0);
    double total = 0.0;
    run_in_order(
        tasks, threads,
        [&](i64 task, int) {
            const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
            double sum = 0.0;
            for (i64 i = task * step; i < end; ++i) {
                double top = S[i];
                for (i64 k = 1; k < K; ++k) top = S[k * n + i] > top ? S[k * n + i] : top;
                double all = 0.0;
                for (i64 k = 0; k < K; ++k) all += std::exp(S[k * n + i] - top);
                sum += weight[i] * (std::log(all) + top - S[y[i] * n + i]);
                for (i64 k = 0; k < K; ++k) {
                    const double p = std::exp(S[k * n + i] - top) / all;
                    R[k * n + i] = static_cast<float>(weight[i] * (p - (k == y[i] ? 1.0 : 0.0)));
                }
            }
            loss[task] = sum;
        },
        [&](i64 task, int) { total += loss[task]; });
    return total;
}

// Log-loss of scores S (n, classes) plus Q[cell] over the cells (n, terms) of each row, and its
// gradient in Q (cells, classes).
inline double correction_gradient(const i32* cells, i64 terms, const double* S, const i32* y,
                                  const double* weight, i64 n, i64 K, const double* Q,
                                  double* gradient, i64 size, int allowed) {
    const i64 step = (n + 7) / 8 > 1024 ? (n + 7) / 8 : 1024, tasks = (n + step - 1) / step;
    const int threads = threads_for(n * K * terms, tasks, allowed);
    std::vector<std::vector<double>> part(threads);
    double total = 0.0;
    std::vector<double> loss(tasks, 0.0);
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            std::vector<double>& g = part[thread];
            g.assign(size, 0.0);
            std::vector<double> z(K);
            const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
            double sum = 0.0;
            for (i64 i = task * step; i < end; ++i) {
                const i32* cell = cells + i * terms;
                for (i64 k = 0; k < K; ++k) z[k] = S[i * K + k];
                for (i64 t = 0; t < terms; ++t) {
                    if (cell[t] < 0) continue;
                    const double* q = Q + cell[t] * K;
                    for (i64 k = 0; k < K; ++k) z[k] += q[k];
                }
                double top = z[0], all = 0.0;
                for (i64 k = 1; k < K; ++k) top = z[k] > top ? z[k] : top;
                const double mine = z[y[i]];
                for (i64 k = 0; k < K; ++k) all += z[k] = std::exp(z[k] - top);
                sum += weight[i] * (std::log(all) + top - mine);
                for (i64 k = 0; k < K; ++k)
                    z[k] = weight[i] * (z[k] / all - (k == y[i] ? 1.0 : 0.0));
                for (i64 t = 0; t < terms; ++t) {
                    if (cell[t] < 0) continue;
                    double* into = g.data() + cell[t] * K;
                    for (i64 k = 0; k < K; ++k) into[k] += z[k];
                }
            }
            loss[task] = sum;
        },
        [&](i64 task, int thread) {
            total += loss[task];
            for (i64 j = 0; j < size; ++j) gradient[j] += part[thread][j];
        });
    return total;
}

}  // namespace tb
