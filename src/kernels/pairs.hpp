// Pairs of columns: what their joint cells say that the present model does not.
//
// With P the present leave-one-out probabilities (n rows, K classes), cell v of a pair has
//   C[v, k] = Σ w·[y = k],  E[v, k] = Σ w·P[i, k]        over the rows in it,
// and says log((C + t_k) / (E + t_k)) of class k; a row is taken out of both sums before it is
// scored itself: one row, or as much of it as there is, min(w, 1). A cell of −1 says nothing.
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
    const float* P;  // (n, classes)
    i64 n, classes;
    double removed(i64 i) const { return weight[i] < 1.0 ? weight[i] : 1.0; }
};

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
        const double w = rows.weight[i], less = rows.removed(i);
        const float* p = rows.P + i * K;
        const double *c = C + v * K, *e = E + v * K;
        double total = 0.0, mine = 1.0;
        for (i64 k = 0; k < K; ++k) {
            const bool own = k == rows.y[i];
            const double expected = e[k] - less * p[k];
            const double count = own ? c[k] - less : c[k];
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

// What the rows of a pair sum to, (cells, classes) each: C, E, and of E the part of the rows whose
// class it is, O[v, k] = Σ w·[y = k]·P[i, k].
template <class Real>
struct Sums {
    Real *C, *E, *O;
};

template <class Real, class Cell>
void sum_pair(const i32* y, const Real* weight, const float* P, i64 n, i64 K, const Cell& cell,
              const Sums<Real>& sums) {
    for (i64 i = 0; i < n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        const Real w = weight[i];
        const float* p = P + i * K;
        Real* e = sums.E + v * K;
        for (i64 k = 0; k < K; ++k) e[k] += w * p[k];
        sums.C[v * K + y[i]] += w;
        sums.O[v * K + y[i]] += w * p[y[i]];
    }
}

// About residual_gain, from the sums alone: the rows of a cell and class j are taken as alike, with
// P_j = O_j / C_j, and the rest of their P spread over the other classes as E − O is. Exact if they
// are alike and there are two classes. c and e are C and E summed over neighbouring cells, or
// themselves; room holds 2·K numbers.
template <class Real>
double cell_gain(const Sums<Real>& sums, const Real* c, const Real* e, i64 cells, i64 K,
                 const double* t, double* room) {
    double gain = 0.0, *ratio = room, *rest = room + K;
    for (i64 v = 0; v < cells; ++v) {
        double m = 0.0, all = 0.0, total = 0.0;
        for (i64 k = 0; k < K; ++k) m += sums.C[v * K + k];
        if (!(m > 0.0)) continue;
        for (i64 k = 0; k < K; ++k) {
            const i64 at = v * K + k;
            const double others = m - sums.C[at], mass = sums.E[at] - sums.O[at];
            rest[k] = mass > 0.0 ? mass : 0.0;
            const double left = others > 0.0 ? e[at] - rest[k] / others : e[at];
            ratio[k] = (c[at] + t[k]) / ((left > 0.0 ? left : 0.0) + t[k]);
            all += rest[k];
            total += rest[k] * ratio[k];
        }
        for (i64 k = 0; k < K; ++k) {
            const i64 at = v * K + k;
            const double C = sums.C[at];
            if (!(C > 0.0)) continue;
            const double less = C < 1.0 ? C : 1.0, p = sums.O[at] / C;
            const double count = c[at] - less, left = e[at] - less * p;
            const double own =
                ((count > 0.0 ? count : 0.0) + t[k]) / ((left > 0.0 ? left : 0.0) + t[k]);
            const double mass = all - rest[k];
            const double other = mass > LEAST ? (total - rest[k] * ratio[k]) / mass : 1.0;
            const double x = p * own + (p < 1.0 ? 1.0 - p : 0.0) * (other > 0.0 ? other : 0.0);
            gain += C * std::log((own > LEAST ? own : LEAST) / (x > LEAST ? x : LEAST));
        }
    }
    return gain;
}

// gains (pairs, strengths) of pairs of columns, by cell_gain; codes are (columns, n), t
// (strengths, classes).
inline void screen_pairs(const i32* y, const float* weight, const float* P, i64 n, i64 K,
                         const std::uint8_t* codes, const i64* size, const i32* pairs, i64 n_pairs,
                         const double* t, i64 strengths, double* gains, int allowed) {
    const int threads = threads_for(n_pairs * n * K * 2, n_pairs, allowed);
    run_tasks(n_pairs, threads, [&](i64 q, int) {
        const i64 a = pairs[2 * q], b = pairs[2 * q + 1], cells = size[a] * size[b];
        std::vector<float> summed(3 * cells * K, 0.0f);
        std::vector<double> room(2 * K);
        const Sums<float> sums{summed.data(), summed.data() + cells * K,
                               summed.data() + 2 * cells * K};
        sum_pair(y, weight, P, n, K, JointCell{codes + a * n, codes + b * n, size[b]}, sums);
        for (i64 s = 0; s < strengths; ++s)
            gains[q * strengths + s] =
                cell_gain(sums, sums.C, sums.E, cells, K, t + s * K, room.data());
    });
}

// What each row's cell says of each class with so much of the row taken out, centred over classes:
// (classes, n).
template <class Cell>
void residual_values(const i32* y, const double* removed, const float* P, i64 n, i64 K,
                     const Cell& cell, const double* C, const double* E, const double* t,
                     float* values, int allowed) {
    const i64 step = 4096, tasks = (n + step - 1) / step;
    run_tasks(tasks, threads_for(n * K * 8, tasks, allowed), [&](i64 task, int) {
        std::vector<double> z(K);
        const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
        for (i64 i = task * step; i < end; ++i) {
            const i64 v = cell(i);
            double mean = 0.0;
            for (i64 k = 0; k < K; ++k) {
                z[k] = 0.0;
                if (v < 0) continue;
                const double expected = E[v * K + k] - removed[i] * P[i * K + k];
                const double count = C[v * K + k] - (k == y[i] ? removed[i] : 0.0);
                z[k] = std::log(((count > 0.0 ? count : 0.0) + t[k]) /
                                ((expected > 0.0 ? expected : 0.0) + t[k]));
                mean += z[k] / static_cast<double>(K);
            }
            for (i64 k = 0; k < K; ++k) values[k * n + i] = static_cast<float>(z[k] - mean);
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
