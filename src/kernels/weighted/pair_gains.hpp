// Pairs of columns: what their joint cells say that the present model does not.
//
// With P the present leave-one-out probabilities (n rows, K classes), cell v of a pair has
//   C[v, k] = Σ w·[y = k],  E[v, k] = Σ w·P[i, k]        over the rows in it,
// and says log((C + t_k) / (E + t_k)) of class k; a row is taken out of both sums, with its whole
// weight, before it is scored itself. A cell of −1 says nothing.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "simd/log_sum.hpp"
#include "weighted/pair_sums.hpp"

namespace tb {

// A PairTable of two classes, if all rows of a class weigh alike: only then what is taken out of C is
// the same for all.
class AlikePair {
public:
    AlikePair(const Loops& loops, const i32* y, const double* weight, i64 n, const double* C,
              const double* E, i64 cells, const double* t) {
        for (i64 k = 0; k < 2; ++k)
            for (i64 i = 0; i < n; ++i)
                if (y[i] == k) {
                    of_[k] = weight[i];
                    break;
                }
        alike_ = loops.alike(y, weight, n, of_);
        if (!alike_) return;
        for (i64 k = 0; k < 2; ++k) table_.r[k] = of_[k];
        table_.least = t[0] < t[1] ? t[0] : t[1];
        entries_.assign(8 * (cells ? cells : 1), 1.0);
        for (i64 at = 0; at < 2 * cells; ++at) {
            const i64 y = at & 1, other = at ^ 1;
            const double entry[4] = {not_negative(C[at] - table_.r[y]) + t[y],
                                     not_negative(C[other]) + t[1 - y], E[at] + t[y],
                                     E[other] + t[1 - y]};
            for (i64 j = 0; j < 4; ++j) entries_[4 * at + j] = entry[j];
        }
        table_.entries = entries_.data();
    }
    AlikePair(const AlikePair&) = delete;
    bool alike() const { return alike_; }
    const PairTable& table() const { return table_; }
    double weighted(const double* logs) const { return of_[0] * logs[0] + of_[1] * logs[1]; }

private:
    bool alike_ = false;
    double of_[2] = {0.0, 0.0};
    PairTable table_{};
    std::vector<double> entries_;
};

// The rows of (n, K) behind whose first number there are `wide` numbers.
inline i64 n_within(i64 n, i64 K, i64 wide) {
    const i64 short_of = (wide - K + K - 1) / K;  // at the end
    return short_of < n ? n - short_of : 0;
}

// residual_gain of any number of classes, of C and E as 32-bit floats, (cells, padded classes).
inline double gain_of_many(const Loops& loops, const LabelledRows& rows, const i32* cell,
                           const InLines<float>& C, const InLines<float>& E, const double* t) {
    constexpr i64 STEP = 256;
    const i64 K = rows.classes, wide = padded(K);
    const InLines<float> prior = lanes_of(t, 1, K), below = lanes_of(t, 1, K, 1.0f);
    const PairOfMany pair{C.data(), E.data(), prior.data(), below.data(), wide, K};
    const i64 within = n_within(rows.n, K, wide);
    std::vector<float> last((rows.n - within) * K + wide, 0.0f);  // rows near the end of P
    std::copy(rows.P + within * K, rows.P + rows.n * K, last.begin());
    LogSum gain(K);
    double share[STEP];
    for (i64 begin = 0, end; begin < rows.n; begin = end) {
        const i64 until = begin < within ? within : rows.n;
        end = begin + STEP < until ? begin + STEP : until;
        const float* P = begin < within ? rows.P + begin * K : last.data() + (begin - within) * K;
        loops.pair_shares(pair, end - begin, cell + begin, rows.y + begin, rows.weight + begin, P,
                          share);
        for (i64 i = begin; i < end; ++i) gain.add(rows.y[i], share[i - begin], rows.weight[i]);
    }
    return gain.value();
}

// Σ w·log(ratio_y / Σ_k P_k·ratio_k): how much the leave-one-out log-likelihood gains by the cells. C
// and E are (cells, width), of which the first are of classes.
inline double residual_gain(const Loops& loops, const LabelledRows& rows, const i32* cell,
                            const double* C, const double* E, i64 cells, i64 width,
                            const double* t) {
    if (rows.classes == 2) {
        const AlikePair pair(loops, rows.y, rows.weight, rows.n, C, E, cells, t);
        if (pair.alike()) {
            double logs[2];
            loops.pair_gains(pair.table(), {cell, rows.y, rows.P, rows.n}, logs);
            return pair.weighted(logs);
        }
    }
    return gain_of_many(loops, rows, cell, lanes_of(C, cells, width), lanes_of(E, cells, width), t);
}

// gains (pairs, 1 + widths, strengths) of pairs of columns, by residual_gain: with few cells, and,
// where one is a number, with more and kernels of these widths over neighbouring cells. A code of
// NONE is not a cell. Where it is not thorough, strengths other than the middle one are tried only
// in the way that is best under that. What is not tried stays as it is.
constexpr std::uint8_t NONE = 255;

struct PairWays {
    const double *t, *width;  // (strengths, classes), (widths,)
    i64 strengths, middle, widths;
    bool thorough;
};

class SharesOfRows {  // Σ w·P of rows, (n, width); of two classes sum_pair_of_two needs none
public:
    explicit SharesOfRows(const LabelledRows& rows)
        : width(rows.classes == 2 ? 2 : padded(rows.classes)) {
        if (rows.classes == 2) return;
        shares_ = lanes_of<double>(rows.P, rows.n, rows.classes);
        for (i64 i = 0; i < rows.n; ++i)
            for (i64 k = 0; k < rows.classes; ++k) shares_[i * width + k] *= rows.weight[i];
    }
    const double* get() const { return shares_.data(); }
    const i64 width;

private:
    InLines<double> shares_;
};

class TriedPair {  // the cells of a pair and what they sum to, (cells, width), in one way
public:
    TriedPair(const Loops& loops, const LabelledRows& rows, const SharesOfRows& shares,
              const std::uint8_t* a, const std::uint8_t* b, i64 width, i64 cells)
        : cell_(rows.n), part_(cells * shares.width) {
        for (i64 i = 0; i < rows.n; ++i)
            cell_[i] = a[i] == NONE || b[i] == NONE ? -1 : static_cast<i32>(a[i] * width + b[i]);
        const bool two = rows.classes == 2;
        sums_.assign((two ? 4 : 2) * part_, 0.0);
        if (two)
            sum_pair_of_two(rows.y, rows.weight, rows.P, rows.n, GivenCell{cell_.data()}, cells,
                            Sums<double>(sums_.data(), part_));
        else
            loops.sum_expected(rows.n, shares.width, cell_.data(), rows.y, rows.weight,
                               shares.get(), sums_.data(), sums_.data() + part_);
    }
    const i32* cell() const { return cell_.data(); }
    const double* C() const { return sums_.data(); }
    const double* E() const { return sums_.data() + part_; }
    i64 part() const { return part_; }

private:
    std::vector<i32> cell_;
    InLines<double> sums_;
    i64 part_;
};

inline void exact_pair_gains(const Loops& loops, const LabelledRows& rows,
                             const PairColumns& columns, const i32* pairs, i64 n_pairs,
                             const PairWays& ways, double* gains, int allowed) {
    const i64 K = rows.classes, n_ways = 1 + ways.widths;
    const SharesOfRows shares(rows);
    run_tasks(n_pairs, threads_for(n_pairs * rows.n * K * 4, n_pairs, allowed), [&](i64 q, int) {
        const i64 i = pairs[2 * q], j = pairs[2 * q + 1];
        struct Way {
            i64 place, cells;
            const i32* cell;
            InLines<double> C, E;  // of two classes, and of more
            InLines<float> counted, expected;
        };
        std::vector<TriedPair> tried;
        std::vector<Way> all;
        tried.reserve(2);
        columns.ways(i, j, [&](int fine, i64, i64 b, i64 cells) {
            const std::uint8_t* codes = columns.codes[fine];
            tried.emplace_back(loops, rows, shares, codes + i * rows.n, codes + j * rows.n, b,
                               cells);
            const TriedPair& of = tried.back();
            InLines<double> half(of.part());
            for (i64 w = 0; w < (fine ? ways.widths : 1); ++w) {
                Way way{fine + w, cells, of.cell(), {}, {}, {}, {}};
                way.C.assign(of.C(), of.C() + of.part());
                way.E.assign(of.E(), of.E() + of.part());
                if (fine && ways.width[w] > 1.0) {
                    const double width = ways.width[w];
                    columns.smooth(loops, i, j, fine, shares.width, width, of.C(), half.data(),
                                   way.C.data());
                    columns.smooth(loops, i, j, fine, shares.width, width, of.E(), half.data(),
                                   way.E.data());
                }
                if (K > 2) {
                    way.counted = lanes_of(way.C.data(), cells, shares.width);
                    way.expected = lanes_of(way.E.data(), cells, shares.width);
                }
                all.push_back(std::move(way));
            }
        });
        const auto gain = [&](const Way& way, i64 s) {
            double& into = gains[(q * n_ways + way.place) * ways.strengths + s];
            into = K > 2 ? gain_of_many(loops, rows, way.cell, way.counted, way.expected,
                                        ways.t + s * K)
                         : residual_gain(loops, rows, way.cell, way.C.data(), way.E.data(),
                                         way.cells, shares.width, ways.t + s * K);
            return into;
        };
        const Way* best = nullptr;
        double most = 0.0;
        for (const Way& way : all) {
            const double now = gain(way, ways.middle);
            if (!best || now > most) best = &way, most = now;
        }
        for (const Way& way : all)
            for (i64 s = 0; s < ways.strengths; ++s)
                if (s != ways.middle && (ways.thorough || &way == best)) gain(way, s);
    });
}

// The joint cell of rows, by the coarser cell that each column's cells are in; −1 where one is.
inline void joint_cells(const i32* first, const i32* second, i64 n, const i32* a, const i32* b,
                        i32 width, i32* joint, int allowed) {
    run_rows(n, 1 << 15, n, allowed, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
            const i32 u = first[i], v = second[i];
            const i32 p = u < 0 ? -1 : a[u], q = v < 0 ? -1 : b[v];
            joint[i] = p < 0 || q < 0 ? -1 : p * width + q;
        }
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
    void without(i64 v, i32 y, double r, const float* P, double* z) const {
        const i64 K = K_;
        const double *e = E_ + v * K, *full = full_.data() + v * K, *part = part_.data() + v * K;
        if (r == 0.0) return static_cast<void>(std::copy(full, full + K, z));
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

constexpr i64 SCORED = 4096;  // rows of a task

// put(i, half of what the cell of row i says of the second class less the first), of two classes.
template <class Put>
void halves_apart(const Loops& loops, const AlikePair& pair, const i32* cell, const i32* y,
                  const float* P, i64 n, int allowed, const Put& put) {
    run_rows(n, SCORED, n * 4, allowed, [&](i64 begin, i64 end) {
        std::vector<double> ratio(end - begin);
        const PairRows rows{cell + begin, y + begin, P + 2 * begin, end - begin};
        loops.pair_ratios(pair.table(), rows, ratio.data());
        loops.logs(rows.n, ratio.data());
        for (i64 i = begin; i < end; ++i) put(i, ratio[i - begin] * (y[i] == 1 ? 0.5 : -0.5));
    });
}

// What each row's cell says of each class with so much of the row taken out, centred over classes:
// (classes, n).
inline void residual_values(const Loops& loops, const i32* y, const double* removed,
                            const float* P, i64 n, i64 K, const i32* cell, const double* C,
                            const double* E, i64 cells, const double* t, float* values,
                            int allowed) {
    if (K == 2) {
        const AlikePair pair(loops, y, removed, n, C, E, cells, t);
        const auto put = [&](i64 i, double half) {
            values[i] = static_cast<float>(-half), values[n + i] = static_cast<float>(half);
        };
        if (pair.alike()) return halves_apart(loops, pair, cell, y, P, n, allowed, put);
    }
    const PairLogs logs(C, E, cells, K, t);
    run_rows(n, SCORED, n * K * 8, allowed, [&](i64 begin, i64 end) {
        std::vector<double> z(K, 0.0);
        for (i64 i = begin; i < end; ++i) {
            const i64 v = cell[i];
            if (v < 0) {
                for (i64 k = 0; k < K; ++k) values[k * n + i] = 0.0f;
                continue;
            }
            logs.without(v, y[i], removed[i], P + i * K, z.data());
            double mean = 0.0;
            for (i64 k = 0; k < K; ++k) mean += z[k];
            mean /= static_cast<double>(K);
            for (i64 k = 0; k < K; ++k) values[k * n + i] = static_cast<float>(z[k] - mean);
        }
    });
}

// ---- scores of rows -----------------------------------------------------------------------------
// What terms add to the scores of rows, each row taken out of the counts: recomputed from tables
// and from P, so that nothing is kept of n·terms·classes.

// add(i, v, s, z) for rows with a cell v, s the scores of row i and z room for a number a class.
template <class Add>
void over_cells(const i32* cell, i64 n, i64 K, double* S, int allowed, const Add& add) {
    run_rows(n, SCORED, n * K * 4, allowed, [&](i64 begin, i64 end) {
        std::vector<double> z(K);
        for (i64 i = begin; i < end; ++i)
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
        const auto put = [&](i64 i, double half) {
            S[2 * i] -= W[0] * half, S[2 * i + 1] += W[1] * half;
        };
        if (pair.alike()) return halves_apart(loops, pair, cell, y, P, n, allowed, put);
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
