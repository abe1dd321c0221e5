// What the joint cells of a pair of columns sum to, and what a pair gains by those sums alone.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/memory.hpp"
#include "core/parallel.hpp"

namespace tb {

constexpr double LEAST = 1e-100;  // of a sum that rounding has left at or below zero

inline double not_negative(double x) { return x > 0.0 ? x : 0.0; }

struct LabelledRows {
    const i32* y;
    const double* weight;
    const float* P;  // (n, classes)
    i64 n, classes;
};

struct JointCell {  // the cell of two columns of small codes
    const std::uint8_t *a, *b;
    i64 width;
    i64 operator()(i64 i) const { return a[i] * width + b[i]; }
};

struct GivenCell {
    const i32* cell;
    i64 operator()(i64 i) const { return cell[i]; }
};

// What the rows of a pair sum to, (cells, classes) each: C, E, and of the rows whose class it is the
// part of E, O[v, k] = Σ w·[y = k]·P[i, k], and its squares, Q[v, k] = Σ w·[y = k]·P[i, k]².
template <class Real>
struct Sums {
    Real *C, *E, *O, *Q;
    Sums(Real* room, i64 part) : C(room), E(C + part), O(E + part), Q(O + part) {}
};

// A cell and class of two: what is summed of its rows.
template <class Real>
struct OwnSums {
    Real rows, own, other, squares;
};

// Of two classes what belongs to a cell and class stands side by side, in two copies, so that a row
// does not wait for the one before it.
template <class Real, class Cell>
void sum_pair_of_two(const i32* y, const Real* weight, const float* P, i64 n, const Cell& cell,
                     i64 cells, const Sums<Real>& sums) {
    std::vector<OwnSums<Real>> all(4 * cells, OwnSums<Real>{});
    for (i64 i = 0; i < n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        OwnSums<Real>& into = all[2 * (2 * v + y[i]) + (i & 1)];
        const Real w = weight[i], p = P[2 * i + y[i]];
        into.rows += w;
        into.own += w * p;
        into.other += w * P[2 * i + 1 - y[i]];
        into.squares += w * p * p;
    }
    for (i64 j = 0; j < 2 * cells; ++j) {
        const OwnSums<Real> *own = &all[2 * j], *other = &all[2 * (j ^ 1)];
        sums.C[j] += own[0].rows + own[1].rows;
        sums.O[j] += own[0].own + own[1].own;
        sums.E[j] += (own[0].own + own[1].own) + (other[0].other + other[1].other);
        sums.Q[j] += own[0].squares + own[1].squares;
    }
}

template <class Real, class Cell>
void sum_pair(const i32* y, const Real* weight, const float* P, i64 n, i64 K, const Cell& cell,
              i64 cells, const Sums<Real>& sums) {
    if (K == 2) return sum_pair_of_two(y, weight, P, n, cell, cells, sums);
    for (i64 i = 0; i < n; ++i) {
        const i64 v = cell(i);
        if (v < 0) continue;
        const Real w = weight[i], own = P[i * K + y[i]];
        const float* p = P + i * K;
        Real* e = sums.E + v * K;
        for (i64 k = 0; k < K; ++k) e[k] += w * p[k];
        sums.C[v * K + y[i]] += w;
        sums.O[v * K + y[i]] += w * own;
        sums.Q[v * K + y[i]] += w * own * own;
    }
}

// What leaving a row of each class out removes, averaged over weight: Σ w² / Σ w.
template <class Real>
std::vector<double> mean_removed(const i32* y, const Real* weight, i64 n, i64 K) {
    std::vector<double> squares(K, 0.0), whole(K, 0.0);
    for (i64 i = 0; i < n; ++i) {
        const double w = weight[i];
        squares[y[i]] += w * w;
        whole[y[i]] += w;
    }
    for (i64 k = 0; k < K; ++k) squares[k] = whole[k] > 0.0 ? squares[k] / whole[k] : 1.0;
    return squares;
}

// About residual_gain of two classes, from the sums alone. A row of class y gains, as a function of p,
// its P of that class,
//   f(p) = log N(p) − log(p·N(p) + (1 − p)·M(p)),
//   N = (c_y − r + t_y)·(e_o − r·(1 − p) + t_o),  M = (c_o + t_o)·(e_y − r·p + t_y),
// and rows of the mean p and the variance V about f(p) + ½·V·f''(p) each; r is what is removed of a
// row on average. What a row adds to the sums itself makes f concave where p differs much from row to
// row.
class CellsOfTwo {
public:
    template <class Real>
    CellsOfTwo(const Sums<Real>& sums, i64 cells, const double* removed)
        : own_(2 * cells), ratio_(2 * cells) {
        for (i64 at = 0; at < 2 * cells; ++at) {
            const double C = sums.C[at], r = removed[at & 1];
            if (!(C > 0.0)) continue;
            const double p = sums.O[at] / C, V = sums.Q[at] / C - p * p;
            own_[at] = {C, C < r ? C : r, p, p < 1.0 ? 1.0 - p : 0.0, V > 0.0 ? V : 0.0};
        }
    }
    // c and e are C and E summed over neighbouring cells, or themselves.
    template <class Real>
    double gain(const Loops& loops, const Real* c, const Real* e, const double* t) {
        const i64 n = own_.size();
        double gain = 0.0;
        for (i64 at = 0; at < n; ++at) {
            const i64 y = at & 1, o = y ^ 1, other = at ^ 1;
            const auto [C, r, p, q, V] = own_[at];
            const double a = not_negative(c[at] - r) + t[y], b = not_negative(c[other]) + t[o];
            const double N = a * (not_negative(e[other] - r * q) + t[o]);
            const double M = b * (not_negative(e[at] - r * p) + t[y]);
            const double D = p * N + q * M;
            const double x = r * a / N, d = (N + p * r * a - M - q * r * b) / D;
            ratio_[at] = C > 0.0 ? N / D : 1.0;
            if (V > 0.0) gain += 0.5 * C * V * (d * d - x * x - 2.0 * r * (a + b) / D);
        }
        loops.logs(n, ratio_.data());
        for (i64 at = 0; at < n; ++at) gain += own_[at].C * ratio_[at];
        return gain;
    }

private:
    struct Own {
        double C = 0.0, r = 0.0, p = 0.0, q = 0.0, V = 0.0;
    };
    std::vector<Own> own_;
    std::vector<double> ratio_;
};

// Numbers a class, 32-bit floats, padded with `pad` to a multiple of 8.
inline i64 padded(i64 K) { return (K + 7) / 8 * 8; }

template <class To = float, class Real>
InLines<To> lanes_of(const Real* from, i64 rows, i64 K, To pad = To(0)) {
    const i64 wide = padded(K);
    InLines<To> to(rows * wide, pad);
    for (i64 i = 0; i < rows; ++i)
        for (i64 k = 0; k < K; ++k) to[i * wide + k] = static_cast<To>(from[i * K + k]);
    return to;
}

// C, E and O of the cells of a pair, (cells, wide), as 32-bit floats.
struct CellSums {
    const float *C, *E, *O;
};

// About residual_gain of any number of classes: the rows of a cell and class j are taken as alike, with
// P_j = O_j / C_j, and the rest of their P spread over the other classes as E − O is. c and e are C
// and E summed over neighbouring cells, or themselves; share is room for (cells, wide).
inline double cell_gain(const Loops& loops, const CellSums& sums, const PairOfMany& pair, i64 cells,
                        const float* removed, double* share) {
    const i64 n = cells * pair.wide;
    loops.cell_shares(pair, cells, sums.C, sums.E, sums.O, removed, share);
    loops.logs(n, share);
    double gain[4] = {0.0, 0.0, 0.0, 0.0};
    for (i64 j = 0; j < n; j += 4)
        for (i64 l = 0; l < 4; ++l) gain[l] += sums.C[j + l] * share[j + l];
    return (gain[0] + gain[1]) + (gain[2] + gain[3]);
}

// gains (pairs, strengths) of pairs of columns, about; codes are (columns, n), t (strengths, classes).
inline void screen_pairs(const Loops& loops, const i32* y, const float* weight, const float* P,
                         i64 n, i64 K, const std::uint8_t* codes, const i64* size,
                         const i32* pairs, i64 n_pairs, const double* t, i64 strengths,
                         double* gains, int allowed) {
    const int threads = threads_for(n_pairs * n * K * 2, n_pairs, allowed);
    const std::vector<double> removed = mean_removed(y, weight, n, K);
    if (K == 2) {
        run_tasks(n_pairs, threads, [&](i64 q, int) {
            const i64 a = pairs[2 * q], b = pairs[2 * q + 1], cells = size[a] * size[b];
            std::vector<float> summed(8 * cells, 0.0f);
            const Sums<float> sums(summed.data(), 2 * cells);
            const JointCell cell{codes + a * n, codes + b * n, size[b]};
            sum_pair_of_two(y, weight, P, n, cell, cells, sums);
            CellsOfTwo told(sums, cells, removed.data());
            for (i64 s = 0; s < strengths; ++s)
                gains[q * strengths + s] = told.gain(loops, sums.C, sums.E, t + 2 * s);
        });
        return;
    }
    const i64 wide = padded(K);
    InLines<float> shares = lanes_of(P, n, K), own(2 * n);
    for (i64 i = 0; i < n; ++i) {
        for (i64 k = 0; k < K; ++k) shares[i * wide + k] *= weight[i];
        own[2 * i] = weight[i];
        own[2 * i + 1] = shares[i * wide + y[i]];
    }
    const SummedRows rows{n, wide, y, own.data(), shares.data()};
    const InLines<float> less = lanes_of(removed.data(), 1, K), prior = lanes_of(t, strengths, K),
                         below = lanes_of(t, strengths, K, 1.0f);
    const i64 tasks = (n_pairs + SUMMED_AT_ONCE - 1) / SUMMED_AT_ONCE;
    run_tasks(tasks, threads, [&](i64 task, int) {
        const i64 first = task * SUMMED_AT_ONCE;
        const int count = static_cast<int>(std::min<i64>(n_pairs - first, SUMMED_AT_ONCE));
        InLines<float> room[SUMMED_AT_ONCE];
        SummedPair summed[SUMMED_AT_ONCE];
        for (int j = 0; j < count; ++j) {
            const i64 a = pairs[2 * (first + j)], b = pairs[2 * (first + j) + 1];
            const i64 part = size[a] * size[b] * wide;
            room[j].assign(3 * part, 0.0f);
            summed[j] = {codes + a * n, codes + b * n, size[b], room[j].data() + part,
                         room[j].data()};
        }
        loops.sum_some_cells(rows, summed, count);
        for (int j = 0; j < count; ++j) {
            const i64 part = static_cast<i64>(room[j].size()) / 3;
            InLines<float> split(2 * part);
            float *C = split.data(), *O = C + part;
            for (i64 v = 0; v < part; ++v) C[v] = summed[j].CO[2 * v], O[v] = summed[j].CO[2 * v + 1];
            const CellSums sums{C, summed[j].E, O};
            std::vector<double> share(part);
            for (i64 s = 0; s < strengths; ++s)
                gains[(first + j) * strengths + s] = cell_gain(
                    loops, sums,
                    {C, sums.E, prior.data() + s * wide, below.data() + s * wide, wide, K},
                    part / wide, less.data(), share.data());
        }
    });
}

// Columns in few cells and in more, (columns, n) each, how many cells those are, and how many of them
// are of numbers: these have neighbouring cells.
struct PairColumns {
    const std::uint8_t* codes[2];
    const i64 *size[2], *numbers[2];
    const bool* number;
    i64 most_cells;  // of a pair, else it is not tried in so many

    // Calls work(fine, a, b, cells) for few cells, and for more where one is a number.
    template <class Work>
    void ways(i64 i, i64 j, const Work& work) const {
        for (int fine = 0; fine < (number[i] || number[j] ? 2 : 1); ++fine) {
            const i64 a = size[fine][i], b = size[fine][j];
            if (a * b <= most_cells) work(fine, a, b, a * b);
        }
    }
    // Sums (cells, K) of a pair over neighbouring cells; half is room for as many.
    void smooth(const Loops& loops, i64 i, i64 j, int fine, i64 K, double width,
                const double* from, double* half, double* to) const {
        const i64 a = size[fine][i], b = size[fine][j];
        loops.over_neighbours(from, 1, a, number[i] ? numbers[fine][i] : 0, b * K, width, half);
        loops.over_neighbours(half, a, b, number[j] ? numbers[fine][j] : 0, K, width, to);
    }
};

// gains (pairs, 1 + widths, strengths) of pairs of columns with two classes, by CellsOfTwo: with few
// cells, and, where one is a number, with more and kernels of these widths over neighbouring cells.
// What is not tried stays as it is.
inline void try_pairs(const Loops& loops, const LabelledRows& rows, const PairColumns& columns,
                      const i32* pairs, i64 n_pairs, const double* t, i64 strengths,
                      const double* width, i64 widths, double* gains, int allowed) {
    const std::vector<double> removed = mean_removed(rows.y, rows.weight, rows.n, 2);
    run_tasks(n_pairs, threads_for(n_pairs * rows.n * 4, n_pairs, allowed), [&](i64 q, int) {
        const i64 i = pairs[2 * q], j = pairs[2 * q + 1];
        columns.ways(i, j, [&](int fine, i64, i64 b, i64 cells) {
            std::vector<double> summed(8 * cells, 0.0), smooth(4 * cells), half(2 * cells);
            const Sums<double> sums(summed.data(), 2 * cells);
            const JointCell cell{columns.codes[fine] + i * rows.n, columns.codes[fine] + j * rows.n,
                                 b};
            sum_pair_of_two(rows.y, rows.weight, rows.P, rows.n, cell, cells, sums);
            CellsOfTwo told(sums, cells, removed.data());
            for (i64 w = 0; w < (fine ? widths : 1); ++w) {
                const double *c = sums.C, *e = sums.E;
                if (fine && width[w] > 1.0) {
                    double* to = smooth.data();
                    columns.smooth(loops, i, j, fine, 2, width[w], sums.C, half.data(), to);
                    columns.smooth(loops, i, j, fine, 2, width[w], sums.E, half.data(),
                                   to + 2 * cells);
                    c = to, e = to + 2 * cells;
                }
                double* into = gains + (q * (1 + widths) + fine + w) * strengths;
                for (i64 s = 0; s < strengths; ++s) into[s] = told.gain(loops, c, e, t + 2 * s);
            }
        });
    });
}

}  // namespace tb
