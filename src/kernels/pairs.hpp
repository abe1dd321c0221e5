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

// A running Σ w·log(x). Rows of a class mostly weigh alike: then logarithms of products cost one for
// many rows.
class LogSum {
public:
    explicit LogSum(i64 classes) : runs_(classes) {}
    void add(i64 k, double x, double w) {
        Run& run = runs_[k];
        if (w != run.weight) {
            flush(run);
            run.weight = w;
        }
        run.product *= x;
        if (!(run.product > 1e-200 && run.product < 1e200)) flush(run);
    }
    double value() {
        for (Run& run : runs_) flush(run);
        return sum_;
    }

private:
    struct Run {
        double product = 1.0, weight = 1.0;
    };
    void flush(Run& run) {
        sum_ += run.weight * std::log(run.product);
        run.product = 1.0;
    }
    std::vector<Run> runs_;
    double sum_ = 0.0;
};

constexpr double LEAST = 1e-100;  // of a sum that rounding has left at or below zero

inline double not_negative(double x) { return x > 0.0 ? x : 0.0; }

// ratio_y / Σ_k P_k·ratio_k of a row of class y, ratio_k = (C_k − [k = y]·r + t_k) / (E_k − r·P_k +
// t_k), r what is removed.
// Of two classes without a branch on y: a·b' / (P_y·a·b' + P_o·a'·b), a and b of the own class, a'
// and b' of the other.
inline double own_share_of_two(const double* c, const double* e, const float* p, const double* t,
                               i32 y, double r) {
    const i32 o = 1 - y;
    const double a = not_negative(c[y] - r) + t[y], other = not_negative(c[o]) + t[o];
    const double mine = a * (not_negative(e[o] - r * p[o]) + t[o]);
    return mine / (p[y] * mine + p[o] * (other * (not_negative(e[y] - r * p[y]) + t[y])));
}

inline double own_share(const double* c, const double* e, const float* p, const double* t, i64 K,
                        i32 y, double r) {
    constexpr i64 LANES = 4;
    double part[LANES] = {0.0, 0.0, 0.0, 0.0};
    const auto ratio = [=](i64 k) {
        return (not_negative(c[k]) + t[k]) / (not_negative(e[k] - r * p[k]) + t[k]);
    };
    i64 k = 0;
    for (; k + LANES <= K; k += LANES)
        for (i64 j = 0; j < LANES; ++j) part[j] += p[k + j] * ratio(k + j);
    for (; k < K; ++k) part[0] += p[k] * ratio(k);
    const double mine = (not_negative(c[y] - r) + t[y]) / (not_negative(e[y] - r * p[y]) + t[y]);
    const double total = ((part[0] + part[1]) + (part[2] + part[3])) + p[y] * (mine - ratio(y));
    return (mine > LEAST ? mine : LEAST) / (total > LEAST ? total : LEAST);
}

// Σ w·log(ratio_y / Σ_k P_k·ratio_k): how much the leave-one-out log-likelihood gains by the cells.
template <class Cell>
double residual_gain(const LabelledRows& rows, const Cell& cell, const double* C, const double* E,
                     const double* t) {
    const i64 K = rows.classes;
    LogSum gain(K);
    for (i64 i = 0; i < rows.n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        const double *c = C + v * K, *e = E + v * K;
        const float* p = rows.P + i * K;
        const i32 y = rows.y[i];
        const double r = rows.removed(i);
        const double x = K == 2 ? own_share_of_two(c, e, p, t, y, r) : own_share(c, e, p, t, K, y, r);
        gain.add(y, x, rows.weight[i]);
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

// The joint cell of rows, by the coarser cell that each column's cells are in; −1 where one is.
inline void joint_cells(const i32* first, const i32* second, i64 n, const i32* a, const i32* b,
                        i32 width, i32* joint, int allowed) {
    const i64 step = 1 << 15, tasks = (n + step - 1) / step;
    run_tasks(tasks, threads_for(n, tasks, allowed), [&](i64 task, int) {
        const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
        for (i64 i = task * step; i < end; ++i) {
            const i32 u = first[i], v = second[i];
            joint[i] = u < 0 || v < 0 ? -1 : a[u] * width + b[v];
        }
    });
}

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

// The same of two classes, where P is 1 in all: E follows from C and O.
template <class Real, class Cell>
void sum_pair_of_two(const i32* y, const Real* weight, const float* P, i64 n, const Cell& cell,
                     i64 cells, const Sums<Real>& sums) {
    std::vector<Real> both(4 * cells, Real(0));  // C and O of a cell and class side by side
    for (i64 i = 0; i < n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        Real* into = both.data() + 2 * (2 * v + y[i]);
        into[0] += weight[i];
        into[1] += weight[i] * P[2 * i + y[i]];
    }
    for (i64 j = 0; j < 2 * cells; ++j) {
        const Real *own = both.data() + 2 * j, *other = both.data() + 2 * (j ^ 1);
        sums.C[j] = own[0];
        sums.O[j] = own[1];
        sums.E[j] = own[1] + (other[0] - other[1]);
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
        const JointCell cell{codes + a * n, codes + b * n, size[b]};
        if (K == 2)
            sum_pair_of_two(y, weight, P, n, cell, cells, sums);
        else
            sum_pair(y, weight, P, n, K, cell, sums);
        for (i64 s = 0; s < strengths; ++s)
            gains[q * strengths + s] =
                cell_gain(sums, sums.C, sums.E, cells, K, t + s * K, room.data());
    });
}

constexpr double NEAR = 0.25;

// log(1 − x) for 0 ≤ x ≤ NEAR, to 1e-11: −2·artanh(x / (2 − x)) by its series.
inline double log_rest(double x) {
    const double s = x / (2.0 - x), z = s * s;
    return -2.0 * s *
           (1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11))))));
}

// What the cells of a pair say of each class, log((C_k + t_k) / (E_k + t_k)), with all rows and with
// a row taken out.
class PairLogs {
public:
    PairLogs(const double* C, const double* E, i64 cells, i64 K, const double* t)
        : C_(C), E_(E), t_(t), K_(K), full_(cells * K), own_(cells * K), part_(cells * K) {
        for (i64 j = 0; j < cells * K; ++j) {
            const double with = C[j] + t[j % K], expected = E[j] + t[j % K];
            full_[j] = std::log(with / expected);
            own_[j] = std::log((not_negative(C[j] - 1.0) + t[j % K]) / expected);
            part_[j] = 1.0 / expected;
        }
    }
    // z_k = log((C − [k = y]·r + t_k) / (E − r·P_k + t_k)) in cell v, r what is removed of a row.
    // FIXED is the number of classes, if it is known at compile time, or 0.
    template <int FIXED>
    void without(i64 v, i32 y, double r, const float* P, double* z) const {
        const i64 K = FIXED ? FIXED : K_;
        const double *e = E_ + v * K, *full = full_.data() + v * K, *part = part_.data() + v * K;
        const auto taken = [=](i64 k) { return (r * P[k] < e[k] ? r * P[k] : e[k]) * part[k]; };
        double most = 0.0;
        for (i64 k = 0; k < K; ++k) {
            const double x = taken(k);
            most = x > most ? x : most;
            z[k] = full[k] - log_rest(x);
        }
        for (i64 k = 0; most > NEAR && k < K; ++k)
            if (taken(k) > NEAR) z[k] = full[k] - std::log1p(-taken(k));
        const i64 at = v * K + y;
        if (r == 1.0)
            z[y] += own_[at] - full_[at];
        else
            z[y] += std::log((not_negative(C_[at] - r) + t_[y]) * part_[at]) - full_[at];
    }

private:
    const double *C_, *E_, *t_;
    i64 K_;
    std::vector<double> full_, own_, part_;
};

// What each row's cell says of each class with so much of the row taken out, centred over classes:
// (classes, n).
template <class Cell>
void residual_values(const i32* y, const double* removed, const float* P, i64 n, i64 K,
                     const Cell& cell, const double* C, const double* E, i64 cells,
                     const double* t, float* values, int allowed) {
    const PairLogs logs(C, E, cells, K, t);
    const i64 step = 4096, tasks = (n + step - 1) / step;
    run_tasks(tasks, threads_for(n * K * 8, tasks, allowed), [&](i64 task, int) {
        std::vector<double> z(K, 0.0);
        const i64 end = (task + 1) * step < n ? (task + 1) * step : n;
        for (i64 i = task * step; i < end; ++i) {
            const i64 v = cell(i);
            if (v < 0) {
                for (i64 k = 0; k < K; ++k) values[k * n + i] = 0.0f;
                continue;
            }
            if (K == 2)
                logs.without<2>(v, y[i], removed[i], P + i * K, z.data());
            else
                logs.without<0>(v, y[i], removed[i], P + i * K, z.data());
            double mean = 0.0;
            for (i64 k = 0; k < K; ++k) mean += z[k];
            mean /= static_cast<double>(K);
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

}  // namespace tb
