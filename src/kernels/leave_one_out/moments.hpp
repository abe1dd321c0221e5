// Gaussian leave-one-out scores of dense rows: the mean and variance of a row's class without it.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "count/dense.hpp"
#include "count/moments.hpp"
#include "leave_one_out/counts.hpp"

namespace tb {

struct MomentTables {
    i64 classes, d;
    MomentTotals<const double> own, everyone;  // of each class (classes, d), and of all of them (d,)
    const double* origin;                      // (d,)
    const double* rest;                        // (d,), what rows long gone may have left of squares
    double residue;    // share of S2 that is not a sum of squares about the mean
    double rounding;   // share of a sum of squares that taking rows out may leave
    double smoothing;  // share of a variance that is added to every one
    bool each;         // of the column's own, not of the largest

    const MomentTotals<const double>& totals(i64 k) const { return k == classes ? everyone : own; }
    i64 at(i64 k) const { return k == classes ? 0 : k * d; }
    double n(i64 k) const { return totals(k).n_hi[at(k)]; }

    static constexpr double MOVED = 0x1p-97;  // share of S2 that it may leave besides

    // Of column j in class k, after a row is taken out; `squares` are those about the mean with it.
    Centred without(i64 k, i64 j, double x, double w, double squares) const {
        const auto& t = totals(k);
        const i64 i = at(k) + j;
        const double unknown = rounding * squares + MOVED * std::fabs(t.s2_hi[i]) + rest[j];
        return centred_without(t, i, origin[j], x, w, unknown);
    }
};

// The tables padded to 8 columns, and ε with every row counted.
class PaddedMoments {
public:
    static constexpr double UNMOVED = 1e-11;  // of a score: a change of ε that is not followed
    static constexpr i64 STRIP = 512;         // columns whose variances one product takes
    static constexpr double LOG_TWO = 6.93147180559945286e-01;

    explicit PaddedMoments(const MomentTables& m)
        : m_(m), pad_((m.d + 7) / 8 * 8), cells_((m.classes + 1) * 4 * pad_), epsilon_(pad_),
          sensitive_(pad_), shares_(m.classes * 4), order_(m.d) {
        for (i64 k = 0; k <= m.classes; ++k)
            for (i64 j = 0; j < pad_; ++j) {
                Centred found{{j < m.d ? m.origin[j] : 0.0, 0.0}, 0.0};
                if (j < m.d && m.n(k) != 0.0) {
                    const auto& t = m.totals(k);
                    const i64 i = m.at(k) + j;
                    found = centred(t.n(i), t.s1(i), t.s2(i), m.origin[j],
                                    m.residue * std::fabs(t.s2_hi[i]));
                }
                mean(k)[j] = found.mean.hi, rest(k)[j] = found.mean.lo;
                squares(k)[j] = std::max(found.squares, 0.0);
            }
        for (i64 j = 0; j < m.d; ++j) order_[j] = j;
        const double* s = squares(m.classes);
        const auto larger = [&](i64 a, i64 b) { return s[a] != s[b] ? s[a] > s[b] : a < b; };
        std::sort(order_.begin(), order_.end(), larger);
        const double largest = m.d ? m.smoothing * (s[order_[0]] / m.n(m.classes)) : 0.0;
        double most = 0.0;
        for (i64 j = 0; j < pad_; ++j) {
            epsilon_[j] = j >= m.d ? 1.0 : m.each ? m.smoothing * (s[j] / m.n(m.classes)) : largest;
            const bool constant = s[j] == 0.0 && epsilon_[j] == 0.0;
            if (constant) constant_.push_back(j), epsilon_[j] = 1.0;
            sensitive_[j] = 0.0;
            for (i64 k = 0; k < m.classes && j < m.d && !constant; ++k)
                if (m.n(k) > 0.0)
                    sensitive_[j] = std::max(sensitive_[j], 1.0 / (squares(k)[j] / m.n(k) + epsilon_[j]));
            most = std::max(most, sensitive_[j]);
        }
        most_ = most, largest_ = largest;
        for (i64 k = 0; k < m.classes; ++k) {
            blank_ |= m.n(k) == 0.0;
            for (int i = 0; i < 4; ++i) shares_[4 * k + i] = 0.0;
            for (i64 j = 0; j < pad_; ++j) {
                const double variance = squares(k)[j] / m.n(k) + epsilon_[j];
                const bool counts = sensitive_[j] > 0.0 && m.n(k) > 0.0;
                const double rho = counts ? 1.0 / (most * variance) : 0.0;
                double power = share(k)[j] = rho;
                for (int i = 0; i < 4; ++i, power *= rho) shares_[4 * k + i] += power;
            }
        }
    }

    struct Moved {
        bool shows;     // in the scores of other classes
        bool little;    // so that series serve
        double change;  // of ε, the same in every column
    };

    // ε without a row into `to` (padded).
    Moved epsilon_without(const double* x, double w, double left, double* to) const {
        const i64 all = m_.classes;
        const double *mu = mean(all), *low = rest(all), *s = squares(all);
        const double moved = w * m_.n(all) / left;
        const bool light = left <= CANCELLED * m_.n(all);
        auto variance = [&](i64 j) {
            const double t = (x[j] - mu[j]) - low[j], squared = rest_of(s[j], t * t * moved);
            if (!light && !(squared < CANCELLED * s[j])) return squared / left;
            return std::max(m_.without(all, j, x[j], w, s[j]).squares, 0.0) / left;
        };
        double change = 0.0, epsilon = 0.0;
        if (m_.each) {
            for (i64 j = 0; j < m_.d; ++j) {
                to[j] = m_.smoothing * variance(j);
                if (sensitive_[j] > 0.0)
                    change = std::max(change, std::fabs(to[j] - epsilon_[j]) * sensitive_[j]);
            }
        } else {
            double top = 0.0;
            for (i64 j : order_) {  // a column cannot have more than it has with the row
                if (s[j] / left <= top) break;
                top = std::max(top, variance(j));
            }
            epsilon = m_.smoothing * top;
            for (i64 j = 0; j < m_.d; ++j) to[j] = epsilon;
            change = std::fabs(epsilon - largest_) * most_;
        }
        for (i64 j = m_.d; j < pad_; ++j) to[j] = 1.0;
        for (i64 j : constant_) to[j] = 1.0;
        return Moved{!(change * static_cast<double>(m_.d) <= UNMOVED) || !is_finite(most_),
                     !m_.each && change < 0x1p-10, epsilon - largest_};
    }

    // log p(x | class k) after a row of weight w is taken out of the class, which keeps `left` of n;
    // false where a variance has no floor.
    bool density(const Loops& loops, const double* x, i64 k, double w, double left,
                 const double* epsilon, double& score) const {
        const double n = m_.n(k);
        const Less less{w * n / left, 1.0 / left, (n / left) * (n / left)};
        double logs = 0.0, quadratic = 0.0;
        const bool light = left <= CANCELLED * n;
        for (i64 j = 0; j < pad_; j += STRIP) {
            const i64 d = pad_ - j < STRIP ? pad_ - j : STRIP;
            Density part;
            loops.density_less(x + j, d, mean(k) + j, rest(k) + j, squares(k) + j, epsilon + j, less,
                               &part);
            if (light || part.kept < 0.0) part = density_exactly(x, j, k, w, left, epsilon, less);
            if (part.least < std::numeric_limits<double>::min()) return false;
            logs += std::log(part.product) + part.exponent * LOG_TWO;
            quadratic += part.quadratic;
        }
        const double log_two_pi = 1.8378770664093454836;
        score = -0.5 * (static_cast<double>(m_.d) * log_two_pi + logs + quadratic);
        return true;
    }

    // Adds to a score what ε more by `change` does to it, in a class that keeps its rows: with δ =
    // change / σ²_min and ρ = σ²_min / σ² of each column,
    //   −½ Σ log(1 + δρ) + (x − μ)² / σ² · (1/(1 + δρ) − 1), both as series in δ.
    void follow(const Loops& loops, const double* x, i64 k, double change, double& score) const {
        const double delta = change * most_;
        const double sum = loops.density_series(x, pad_, mean(k), share(k), delta);
        double power = delta, logs = 0.0;
        for (int i = 0; i < 4; ++i, power *= -delta) logs += power * shares_[4 * k + i] / (i + 1);
        score -= 0.5 * (logs - delta * most_ * sum);
    }

    i64 pad() const { return pad_; }
    bool blank() const { return blank_; }  // some class has no row

private:
    // As Loops::density_less; sums that lose their digits are read again from the totals.
    Density density_exactly(const double* x, i64 from, i64 k, double w, double left,
                            const double* epsilon, const Less& less) const {
        const double n = m_.n(k);
        const bool light = left <= CANCELLED * n;
        double logs = 0.0, quadratic = 0.0, least = 1.0;
        for (i64 j = from; j < std::min(from + STRIP, m_.d); ++j) {
            const double whole = squares(k)[j];
            double t = (x[j] - mean(k)[j]) - rest(k)[j], squared = rest_of(whole, t * t * less.moved);
            t *= n / left;  // from the mean of the others
            if (light || squared < CANCELLED * whole) {
                const Centred others = m_.without(k, j, x[j], w, whole);
                t = (x[j] - others.mean.hi) - others.mean.lo;
                squared = std::max(others.squares, 0.0);
            }
            const double variance = squared / left + epsilon[j];
            quadratic += t * t / variance, logs += std::log(variance);
            least = std::min(least, variance);
        }
        return {1.0, logs / LOG_TWO, quadratic, least, 0.0};
    }

    double* mean(i64 k) const { return cells_.get() + k * 4 * pad_; }
    double* rest(i64 k) const { return mean(k) + pad_; }  // what the mean is more
    double* squares(i64 k) const { return mean(k) + 2 * pad_; }
    double* share(i64 k) const { return mean(k) + 3 * pad_; }  // σ²_min / σ²
    const MomentTables& m_;
    i64 pad_;
    Buffer<double> cells_, epsilon_, sensitive_, shares_;
    std::vector<i64> order_;     // columns, the largest sum of squares first
    std::vector<i64> constant_;  // columns that add nothing: their variance stands as 1
    double most_ = 0.0, largest_ = 0.0;
    bool blank_ = false;
};

// Scores (n, classes) with that of each row's own class replaced, and of every class where ε moves
// or the class is blank. redo[i]: the row is for the caller, who knows what stands for a variance of
// 0, or for no rows at all.
template <class M>
void moments_without(const Loops& loops, const M& x, const MomentTables& m,
                     const Taken& taken, double* scores, unsigned char* redo, int threads) {
    need_classes(taken);
    const PaddedMoments tables(m);
    constexpr i64 ROWS = 256;
    const i64 K = m.classes;
    struct alignas(APART) Local {
        Buffer<double> pack, row, epsilon;
    };
    threads = threads_for(x.n * x.d * 4, (x.n + ROWS - 1) / ROWS, threads);
    std::vector<Local> locals(threads);
    for (auto& local : locals) local.row.resize(tables.pad()), local.epsilon.resize(tables.pad());
    auto one_row = [&](const double* row, i64 i, double* epsilon) {
        const double w = taken.weight[i], everyone = rest_of(m.n(K), w);
        if (everyone == 0.0) return false;
        const auto moved = tables.epsilon_without(row, w, everyone, epsilon);
        for (i64 k = 0; k < K; ++k) {
            const bool mine = k == taken.own[i], blank = tables.blank() && m.n(k) == 0.0;
            if (!mine && !moved.shows && !blank) continue;
            const double out = mine ? w : 0.0, left = rest_of(m.n(k), out);
            double& score = scores[i * K + k];
            if (!mine && !blank && moved.little) {
                tables.follow(loops, row, k, moved.change, score);
                continue;
            }
            // a class without rows is like all classes together
            const bool fine =
                left == 0.0 ? tables.density(loops, row, K, w, everyone, epsilon, score)
                            : tables.density(loops, row, k, out, left, epsilon, score);
            if (!fine) return false;
        }
        return true;
    };
    each_chunk(x.n, ROWS, threads, [&](i64 r0, i64 r1, int thread) {
        Local& local = locals[thread];
        each_row_tile(x, r0, r1 - r0, 0, x.d, PACK_ROWS, local.pack, [&](const auto* from, i64 stride, i64 i, i64 n) {
            for (i64 r = 0; r < n; ++r) {
                double* row = local.row.get();
                for (i64 j = 0; j < x.d; ++j) row[j] = static_cast<double>(from[r * stride + j]);
                for (i64 j = x.d; j < tables.pad(); ++j) row[j] = 0.0;
                redo[r0 + i + r] = !one_row(row, r0 + i + r, local.epsilon.get());
            }
        });
        return static_cast<int>(FINE);
    });
}

}  // namespace tb
