// Negative binomials of a column of counts: their sizes, and how well they tell the classes apart,
// each row left out of its class's mean and size. The formulas are those of
// families/negative_binomial.py. For whole x,
//   ψ(r + x) − ψ(r) = Σ_{i<x} 1 / (r + i)   and   log Γ(r + x) − log Γ(r) = Σ_{i<x} log(r + i).
#pragma once
#include "leave_one_out/choice.hpp"

namespace tb {

class CountsColumn {
public:
    // `values` are whole, from 0 on, and ascend.
    CountsColumn(const GridColumn& grid, const double* values, i64 classes)
        : grid_(grid), values_(values), K_(classes),
          most_(static_cast<i64>(values[grid.cells - 1])), reach_(K_), n_(K_), total_(K_),
          squares_(K_), above_(K_ * most_), size_(K_) {
        for (i64 k = 0; k < K_; ++k) {
            double* above = above_.data() + k * most_;
            for (i64 a = 0; a < grid.cells; ++a) {
                const double w = grid.counts[k * grid.cells + a], x = values[a];
                n_[k] += w, total_[k] += w * x, squares_[k] += w * x * x;
                if (x > 0.0) above[static_cast<i64>(x) - 1] += w;
                if (w > 0.0) reach_[k] = static_cast<i64>(x);
            }
            for (i64 i = most_ - 1; i-- > 0;) above[i] += above[i + 1];
        }
        for (i64 k = 0; k < K_; ++k) size_[k] = size(k, 0.0, 0.0);
    }

    double log_size(i64 k) const { return size_[k]; }

    // log r of class k without a row of value x, at most the largest of `values`, and weight w.
    double log_size_without(i64 k, double x, double w) const { return size(k, x, w); }

    // L with `alpha` rows at the overall mean; an L below `enough` need not be exact. A first pass
    // leaves sizes as all rows give them, the second leaves each row out of the size, too.
    double score(const ClassRows& with, double alpha, double pooled, double enough) {
        const double rough = score(with, alpha, pooled, enough, false);
        return rough < enough ? rough : score(with, alpha, pooled, enough, true);
    }

private:
    static constexpr double LEAST = -14.0, MOST = 14.0, EXACT = 1e-12;  // of log r
    static constexpr int STEPS = 60;

    // log r of class k without a row of value x and weight w.
    double size(i64 k, double x, double w) const {
        const double n = what_is_left(n_[k], w), total = what_is_left(total_[k], w * x);
        if (!(n > 0.0)) return MOST;
        const double mean = total / n, spread = squares_[k] - w * x * x - total * mean;
        if (!(spread > total)) return MOST;  // Poisson
        const double* above = above_.data() + k * most_;
        const i64 taken = static_cast<i64>(x);
        const double by_moments = std::log(mean * total / (spread - total));
        double at = w > 0.0 ? size_[k] : std::clamp(by_moments, LEAST, MOST);
        double low = LEAST, high = MOST;
        for (int step = 0; step < STEPS; ++step) {
            const double r = std::exp(at);
            double first = 0.0, second = 0.0;
            auto sum = [&](i64 from, i64 to, double less) {
                for (i64 i = from; i < to; ++i) {
                    const double inverse = 1.0 / (r + static_cast<double>(i));
                    const double part = (above[i] - less) * inverse;
                    first += part, second -= part * inverse;
                }
            };
            sum(0, taken, w), sum(taken, reach_[k], 0.0);
            first -= n * std::log1p(mean / r), second += total / (r * (r + mean));
            const double slope = r * first, bend = r * (first + r * second);
            (slope > 0.0 ? low : high) = at;
            const double newton = at - slope / (bend < 0.0 ? bend : -1.0);
            const bool fits = bend < 0.0 && newton > low && newton < high;
            const double next = fits ? newton : 0.5 * (low + high);
            const double moved = std::abs(next - at);
            at = next;
            if (!(moved > EXACT)) break;
        }
        return at;
    }

    // log of r (r + 1) … (r + x − 1)
    static double log_rising(double r, i64 x) {
        double sum = 0.0, product = 1.0;
        for (i64 i = 0; i < x; ++i) {
            product *= r + static_cast<double>(i);
            if (product > 1e280 || product < 1e-280) sum += std::log(product), product = 1.0;
        }
        return sum + std::log(product);
    }

    // log n p(x), but for log x!, which all classes share
    static double log_mass(double x, double n, double mean, double r, double ways) {
        if (!(n > 0.0) || (x > 0.0 && !(mean > 0.0))) return -std::numeric_limits<double>::infinity();
        const double of_mean = x > 0.0 ? x * std::log(mean / (r + mean)) : 0.0;
        return std::log(n) + ways + of_mean - r * std::log1p(mean / r);
    }

    double score(const ClassRows& with, double alpha, double pooled, double enough,
                 bool exact) const {
        double n_all = 0.0, total_all = 0.0, result = 0.0;
        for (i64 k = 0; k < K_; ++k) n_all += n_[k], total_all += total_[k];
        std::vector<double> mass(K_), others(K_), ways(K_), r(K_);
        for (i64 k = 0; k < K_; ++k) r[k] = std::exp(size_[k]);
        for (i64 a = 0; a < grid_.cells && !(result < enough); ++a) {
            const double x = values_[a];
            const i64 whole = static_cast<i64>(x);
            for (i64 k = 0; k < K_; ++k) ways[k] = log_rising(r[k], whole);
            double taken = 0.0;  // the weight of the row that `others` are without
            for (i64 own = 0; own < K_; ++own) {
                const double count = grid_.counts[own * grid_.cells + a];
                if (!(count > 0.0)) continue;
                const double one = with.one(own, count), left_all = what_is_left(n_all, one);
                const double sum_left = what_is_left(total_all, one * x);
                const double overall = left_all > 0.0 ? sum_left / left_all : 1.0;
                auto mass_of = [&](i64 k, double w, bool again) {
                    const double n = what_is_left(n_[k], w);
                    const double total = n > 0.0 ? what_is_left(total_[k], w * x) : 0.0;
                    const double mean = (total + alpha * overall) / (n + alpha);
                    const double size = again ? std::exp(this->size(k, x, w)) : r[k];
                    return log_mass(x, n, mean, size, again ? log_rising(size, whole) : ways[k]);
                };
                if (one != taken) {
                    for (i64 k = 0; k < K_; ++k) others[k] = mass_of(k, 0.0, false);
                    taken = one;
                }
                double top = -std::numeric_limits<double>::infinity();
                double sum = 0.0, all = 0.0, n_left = 0.0;
                for (i64 k = 0; k < K_; ++k) {
                    mass[k] = k == own ? mass_of(k, one, exact) : others[k];
                    top = std::max(top, mass[k]);
                    n_left += what_is_left(n_[k], k == own ? one : 0.0);
                }
                for (i64 k = 0; k < K_; ++k)
                    sum += mass[k] = std::isfinite(top) ? std::exp(mass[k] - top) : 1.0;
                const double share = pooled * sum / std::max(n_left, 1e-300);
                double mine = 0.0;
                for (i64 k = 0; k < K_; ++k) {
                    const double w = k == own ? one : 0.0, n = what_is_left(n_[k], w);
                    const double prior = what_is_left(with.prior[k], w);
                    const double mean_mass = (mass[k] + share) / (n + pooled);
                    const double joint = prior * (std::isfinite(top) ? mean_mass : 1.0);
                    all += joint;
                    if (k == own) mine = joint;
                }
                result += count * std::log(mine / all);
            }
        }
        return result == result ? result : -std::numeric_limits<double>::infinity();
    }

    const GridColumn grid_;
    const double* values_;
    const i64 K_, most_;
    std::vector<i64> reach_;  // the largest value of each class
    std::vector<double> n_, total_, squares_, above_, size_;  // above: rows above 0, 1, …
};

}  // namespace tb
