// How well the candidates for a column of numbers tell the classes apart, each row left out:
//   L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller
// Work follows the cells that hold rows, not classes times cells: what a cell says in the classes
// that it holds no row of enters as one sum over classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/view.hpp"
#include "simd/loop_table.hpp"

namespace tb {

struct GridColumn {
    const double* counts;  // (classes, cells)
    i64 cells;
};

struct ClassRows {
    i64 classes;
    const double* prior;  // (classes,): smoothed class counts
    const double* row;    // (classes,): the weight of a row
    double unit;          // and of a row of any class

    // what is taken out of a cell
    double one(i64 k, double weight) const { return std::min(weight, row[k]); }
};

inline double what_is_left(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
}

// The cells of a column that hold rows of a class, class by class.
struct UsedCells {
    std::vector<i32> cell, of;  // the class of each
    std::vector<double> weight;
    std::vector<i64> start;      // (classes + 1,)
    std::vector<double> rows;    // of each class
    double everyone = 0.0;
    i64 size() const { return static_cast<i64>(cell.size()); }

    // makes room for so many entries
    void clear(i64 classes, i64 most) {
        cell.resize(static_cast<std::size_t>(most)), of.resize(cell.size()), weight.resize(cell.size());
        start.assign(static_cast<std::size_t>(classes) + 1, 0);
        rows.assign(static_cast<std::size_t>(classes), 0.0);
        everyone = 0.0;
    }
    void close(i64 entries) {
        const std::size_t n = static_cast<std::size_t>(entries);
        cell.resize(n), of.resize(n), weight.resize(n);
        for (double w : rows) everyone += w;
    }
    void read(const GridColumn& column, i64 classes) {
        const i64 n = classes * column.cells;
        const double* w = column.counts;
        i64 e = 0;
        for (i64 i = 0; i < n; ++i) e += w[i] > 0.0;
        clear(classes, e + 1), e = 0;  // one more: each entry is written, and kept where it has rows
        for (i64 k = 0; k < classes; ++k, w += column.cells) {
            for (i64 a = 0; a < column.cells; ++a) {
                cell[e] = static_cast<i32>(a), of[e] = static_cast<i32>(k), weight[e] = w[a];
                e += w[a] > 0.0;
            }
            start[k + 1] = e;
        }
        for (i64 i = 0; i < e; ++i) rows[of[i]] += weight[i];
        close(e);
    }
    // The same rows in coarser cells; bin (cells of `fine`) ascends.
    void join(const UsedCells& fine, const i32* bin) {
        clear(static_cast<i64>(fine.rows.size()), fine.size());
        rows = fine.rows;
        i64 n = 0;
        i32 last = -1, k = -1;
        double sum = 0.0;
        for (i64 e = 0; e < fine.size(); ++e) {
            const i32 b = bin[fine.cell[e]];
            const bool again = b == last && fine.of[e] == k;
            n += !again;
            sum = (again ? sum : 0.0) + fine.weight[e];
            weight[n - 1] = sum;
            cell[n - 1] = last = b, of[n - 1] = k = fine.of[e];
            start[k + 1] = n;
        }
        for (std::size_t i = 1; i < start.size(); ++i) start[i] = std::max(start[i], start[i - 1]);
        close(n);
    }
};

// Bins of equally many effective rows, which are rounded, so that the last bits of a common factor on
// all weights move no row over a cut. A heavy value separates what lies on its two sides.
class QuantileBins {
public:
    QuantileBins(const UsedCells& used, i64 cells, const ClassRows& with)
        : weight_(static_cast<std::size_t>(cells), 0.0) {
        for (i64 e = 0; e < used.size(); ++e)
            weight_[used.cell[e]] += rounded(used.weight[e] / with.row[used.of[e]]);
        for (double all : weight_) total_ += all;
    }

    // the bin of each cell; how many there are
    i64 cut(i64 n_bins, std::vector<i32>& bin) const {
        const i64 cells = static_cast<i64>(weight_.size());
        const double most = total_ / static_cast<double>(n_bins);
        i64 n_heavy = 0, heavy = 0, last = -1, bins = -1;
        double light = 0.0, before = 0.0;
        for (double w : weight_) w > most ? void(++n_heavy) : void(light += w);
        const i64 room = std::max<i64>(1, n_bins - n_heavy);
        const double per = std::max(light, 1e-300);
        bin.resize(static_cast<std::size_t>(cells));
        for (i64 a = 0; a < cells; ++a) {
            const double w = weight_[a];
            i64 label;
            if (w > most) {
                label = (2 * ++heavy - 1) * (room + 1);
            } else {
                before += w;
                const double rank = std::floor(static_cast<double>(room) * (before - w / 2.0) / per);
                label = 2 * heavy * (room + 1) + std::min(static_cast<i64>(rank), room);
            }
            bins += label != last;
            last = label;
            bin[a] = static_cast<i32>(bins);
        }
        return bins + 1;
    }

private:
    // to nine decimals; a whole number is one
    static double rounded(double x) {
        if (x < 0x1p22 && static_cast<double>(static_cast<i64>(x)) == x) return x;
        return std::nearbyint(x * 1e9) / 1e9;
    }

    std::vector<double> weight_;
    double total_ = 0.0;
};

// Candidates of cells: bins with additive smoothing, and a density that spreads the counts of fine
// bins. Both are (k_ca + S q_a) / (n_c + S); a class without rows has those of all classes.
struct CellCandidates {
    std::vector<i64> sizes;
    double pseudo;  // rows that each bin is given
    i64 fine;
    std::vector<i64> widths;
    std::vector<double> strengths;  // S
};

// What is computed of all candidates is rough: rounding in another order, far below this share of L.
// Only those so near the best are computed once more, in the order that decides the last bits.
constexpr double ROUGHLY = 1e-8;

class CellScorer {
public:
    CellScorer(const Loops& loops, const ClassRows& with, const CellCandidates& candidates)
        : loops_(loops), with_(with), candidates_(candidates) {}

    // L of each size, NaN where the bins are those of an earlier one, and of each width and strength;
    // −∞ where it is below another by more than rounding
    void score(const GridColumn& column, double* bins, double* densities) const {
        UsedCells cells, binned;
        cells.read(column, with_.classes);
        const QuantileBins quantiles(cells, column.cells, with_);
        std::vector<std::vector<i32>> known;
        std::vector<i32> bin;
        std::vector<i64> n_bins;
        const i64 n_sizes = static_cast<i64>(candidates_.sizes.size());
        for (i64 i = 0; i < n_sizes; ++i) {
            const i64 n = quantiles.cut(candidates_.sizes[i], bin);
            const bool again = std::find(known.begin(), known.end(), bin) != known.end();
            bins[i] = std::numeric_limits<double>::quiet_NaN();
            n_bins.push_back(again ? 0 : n);
            known.push_back(bin);
            if (!again) bins[i] = binned_likelihood(joined(cells, column.cells, bin, n, binned), n, true);
        }
        const i64 n = quantiles.cut(candidates_.fine, bin);
        UsedCells fine;
        const DensityScorer density(*this, joined(cells, column.cells, bin, n, fine), n);
        const i64 n_densities = density.rough(densities);

        double best = -std::numeric_limits<double>::infinity();
        for (i64 i = 0; i < n_sizes; ++i) best = std::max(best, bins[i]);
        for (i64 i = 0; i < n_densities; ++i) best = std::max(best, densities[i]);
        best -= ROUGHLY * std::abs(best) + 1e-12 * cells.everyone;
        for (i64 i = 0; i < n_densities; ++i)
            densities[i] = densities[i] < best ? -std::numeric_limits<double>::infinity()
                                               : density.likelihood(i);
        for (i64 i = 0; i < n_sizes; ++i) {
            if (n_bins[i] == 0) continue;
            if (bins[i] < best) {
                bins[i] = -std::numeric_limits<double>::infinity();
                continue;
            }
            const UsedCells& used = joined(cells, column.cells, known[i], n_bins[i], binned);
            bins[i] = binned_likelihood(used, n_bins[i], false);
        }
    }

private:
    using Numbers = std::vector<double>;

    // Σ w log ratio
    double likelihood(const UsedCells& used, Numbers& ratio) const {
        loops_.logs(used.size(), ratio.data());
        double total = 0.0;
        for (i64 e = 0; e < used.size(); ++e) total += used.weight[e] * ratio[e];
        return total;
    }

    // rows of `fine` cells in n bins; `room` is for them
    static const UsedCells& joined(const UsedCells& fine, i64 cells, const std::vector<i32>& bin,
                                   i64 n, UsedCells& room) {
        if (n == cells) return fine;
        room.join(fine, bin.data());
        return room;
    }

    static void sum_rows(const UsedCells& used, Numbers& rows) {
        for (i64 e = 0; e < used.size(); ++e) rows[used.cell[e]] += used.weight[e];
    }

    double binned_likelihood(const UsedCells& used, i64 n, bool rough) const {
        const double each = candidates_.pseudo, S = each * static_cast<double>(n);
        Numbers rows(n, 0.0), said(n, 0.0), ratio(used.size());
        sum_rows(used, rows);
        double smoothed = 0.0, blank = 0.0;
        Numbers factor(with_.classes);
        for (i64 k = 0; k < with_.classes; ++k) {
            factor[k] = with_.prior[k] / (used.rows[k] + S);
            (used.rows[k] == 0.0 ? blank : smoothed) += used.rows[k] == 0.0 ? with_.prior[k] : factor[k];
        }
        for (i64 e = 0; e < used.size(); ++e)
            said[used.cell[e]] += factor[used.of[e]] * used.weight[e];
        for (i64 b = 0; b < n; ++b)
            said[b] += each * smoothed + blank * (rows[b] + each) / (used.everyone + S);
        const BinShares given{with_.prior, with_.row, used.rows.data(), rows.data(), said.data(),
                              each, S, used.everyone};
        loops_.bin_shares(given, used.size(), used.cell.data(), used.of.data(), used.weight.data(),
                          ratio.data());
        if (rough) return loops_.log_sum(used.size(), used.weight.data(), ratio.data(), false);
        return likelihood(used, ratio);
    }

    // Triangular weights between n bins of a kernel of h bins on either side, before each bin's rows
    // are divided by their sum.
    struct Kernel {
        std::vector<double> at, sum;
        i64 h;
        Kernel(i64 n, i64 width) : at(std::max(n, width + 1), 0.0), sum(n, 0.0), h(width) {
            for (i64 i = 0; i <= h; ++i)
                at[i] = 1.0 - static_cast<double>(i) / (static_cast<double>(h) + 1.0);
            for (i64 b = 0; b < n; ++b)
                for (i64 a = std::max<i64>(b - h, 0); a <= std::min(b + h, n - 1); ++a)
                    sum[b] += at[std::abs(a - b)];
        }
        // Σ_b kernel(a, b) x_b of all a
        void spread(const Numbers& x, Numbers& out) const {
            const i64 n = static_cast<i64>(x.size());
            std::fill(out.begin(), out.end(), 0.0);
            for (i64 b = 0; b < n; ++b) {
                const double part = x[b] / sum[b];
                for (i64 a = std::max<i64>(b - h, 0); a <= std::min(b + h, n - 1); ++a)
                    out[a] += at[std::abs(a - b)] * part;
            }
        }
    };

    // Smoothed densities of one column. Entries stand cell by cell, so that what a cell has in common
    // is read once; L is summed class by class.
    class DensityScorer {
    public:
        DensityScorer(const CellScorer& scorer, const UsedCells& used, i64 n)
            : of_(scorer), used_(used), n_(n), E_(used.size()), start_(n + 1, 0), at_(E_) {
            const CellCandidates& candidates = of_.candidates_;
            for (i64 e = 0; e < E_; ++e) ++start_[used.cell[e] + 1];
            for (i64 b = 0; b < n; ++b) start_[b + 1] += start_[b];
            std::vector<i64> next(start_.begin(), start_.end() - 1);
            for (i64 e = 0; e < E_; ++e) at_[e] = static_cast<i32>(next[used.cell[e]]++);
            for (i64 width : candidates.widths) kernels_.emplace_back(n, width);
            look_at_rows();
            spread_rows();
        }

        // L of each width and strength, roughly; how many there are
        i64 rough(double* out) const {
            const i64 n_strengths = static_cast<i64>(strengths().size());
            const i64 n = static_cast<i64>(kernels_.size()) * n_strengths;
            Numbers share(E_);
            Own own;
            for (i64 i = 0; i < n; ++i) {
                if (i % n_strengths == 0) own = own_of(i / n_strengths);
                shares(own, i % n_strengths, share);
                out[i] = unit_ * of_.loops_.log_sum(E_, weight_.data(), share.data(), few_);
            }
            return n;
        }

        // L of one
        double likelihood(i64 i) const {
            const i64 n_strengths = static_cast<i64>(strengths().size());
            Numbers share(E_), ratio(E_);
            shares(own_of(i / n_strengths), i % n_strengths, share);
            for (i64 e = 0; e < E_; ++e) ratio[e] = share[at_[e]];
            return of_.likelihood(used_, ratio);
        }

    private:
        const std::vector<double>& strengths() const { return of_.candidates_.strengths; }

        // what no width changes
        void look_at_rows() {
            const ClassRows& with = of_.with_;
            const i64 K = with.classes;
            const std::size_t n_strengths = strengths().size();
            const double u = with.unit, even = u / static_cast<double>(n_);
            N_ = used_.everyone;
            rows_.assign(n_, 0.0), base_.resize(n_);
            sum_rows(used_, rows_);
            for (i64 b = 0; b < n_; ++b) base_[b] = (rows_[b] + even) / (N_ + u);
            Numbers mine(E_), left(E_), held(E_), prior(E_), row(E_), by_class(K);
            weight_.resize(E_), one_.resize(E_), own_base_.resize(E_), gone_.resize(E_);
            for (i64 k = 0; k < K; ++k)
                if (used_.rows[k] == 0.0) blank_ += with.prior[k];
            for (i64 e = 0; e < E_; ++e) {
                const i64 i = at_[e], k = used_.of[e];
                weight_[i] = used_.weight[e], held[i] = used_.rows[k];
                prior[i] = with.prior[k], row[i] = with.row[k];
            }
            const DensityRows given{weight_.data(), held.data(), prior.data(), row.data(),
                                    rows_.data(), N_, even, u};
            of_.loops_.density_rows(given, n_, start_.data(), one_.data(), mine.data(),
                                    left.data(), own_base_.data(), gone_.data());
            said_.assign(n_strengths, Numbers(n_, 0.0)), smoothed_.assign(n_strengths, 0.0);
            factor_.assign(n_strengths, Numbers(E_)), mine_.assign(n_strengths, Numbers(E_));
            for (std::size_t s = 0; s < n_strengths; ++s) {
                const double S = strengths()[s];
                for (i64 k = 0; k < K; ++k) {
                    by_class[k] = with.prior[k] / (used_.rows[k] + S);
                    if (used_.rows[k] > 0.0) smoothed_[s] += by_class[k];
                }
                for (i64 e = 0; e < E_; ++e)
                    said_[s][used_.cell[e]] += by_class[used_.of[e]] * used_.weight[e];
                of_.loops_.ratios(E_, prior.data(), held.data(), S, factor_[s].data());
                of_.loops_.ratios(E_, mine.data(), left.data(), S, mine_[s].data());
            }
            unit_ = E_ ? *std::min_element(weight_.begin(), weight_.end()) : 1.0;
            few_ = true;
            for (double w : weight_) {
                const double times = w / unit_;
                few_ &= times == 1.0 || times == 2.0 || times == 3.0 || times == 4.0;
            }
            if (!few_) unit_ = 1.0;
            for (double& w : weight_) w /= unit_;
        }

        // k_ca of the entries, of each width
        void spread_rows() {
            const i64 n_widths = static_cast<i64>(kernels_.size());
            spread_.resize(n_widths * E_);
            for (i64 first = 0; first < n_widths; first += LANES) {
                const i64 here = std::min(LANES, n_widths - first);
                i64 reach = 0, longest = 0;
                for (i64 l = 0; l < here; ++l) reach = std::max(reach, kernels_[first + l].h);
                for (std::size_t k = 0; k + 1 < used_.start.size(); ++k)
                    longest = std::max(longest, used_.start[k + 1] - used_.start[k]);
                Numbers at((reach + 1) * LANES, 0.0), sum(n_ * LANES, 1.0), part(longest * LANES);
                for (i64 l = 0; l < here; ++l) {
                    const Kernel& kernel = kernels_[first + l];
                    for (i64 i = 0; i <= kernel.h; ++i) at[i * LANES + l] = kernel.at[i];
                    for (i64 b = 0; b < n_; ++b) sum[b * LANES + l] = kernel.sum[b];
                }
                const SpreadRows given{used_.start.data(), used_.cell.data(), at_.data(),
                                       used_.weight.data(), at.data(), sum.data(), reach};
                of_.loops_.spread_rows(given, static_cast<i64>(used_.start.size()) - 1, here,
                                       part.data(), spread_.data() + first * E_, E_);
            }
        }

        struct Own {  // of one width
            i64 width = 0;
            Numbers own, pooled;  // of each entry, what its row leaves of it; of each bin
        };

        Own own_of(i64 width) const {
            const Kernel& kernel = kernels_[width];
            Own found{width, Numbers(E_), Numbers(n_)};
            kernel.spread(rows_, found.pooled);
            const DensityOwn given{spread_.data() + width * E_, one_.data(), gone_.data(),
                                   found.pooled.data(), kernel.sum.data()};
            of_.loops_.density_own(given, n_, start_.data(), found.own.data());
            return found;
        }

        void shares(const Own& own, i64 s, Numbers& share) const {
            const double S = strengths()[s];
            Numbers all(n_), by_base(n_);
            kernels_[own.width].spread(said_[s], all);
            for (i64 b = 0; b < n_; ++b) {
                by_base[b] = S * base_[b];
                all[b] += by_base[b] * smoothed_[s] +
                          blank_ * (own.pooled[b] + by_base[b]) / (N_ + S);
            }
            const DensityShares given{factor_[s].data(), spread_.data() + own.width * E_,
                                      mine_[s].data(), own.own.data(), own_base_.data(),
                                      by_base.data(), all.data(), S};
            of_.loops_.density_shares(given, n_, start_.data(), share.data());
        }

        static constexpr i64 LANES = 8;
        const CellScorer& of_;
        const UsedCells& used_;
        i64 n_, E_;
        std::vector<i64> start_;  // (cells + 1,): the entries of each cell
        std::vector<i32> at_;     // where each entry stands
        std::vector<Kernel> kernels_;
        double N_ = 0.0, blank_ = 0.0, unit_ = 1.0;
        bool few_ = false;  // whether no weight is more than four times the least, and all are whole
        Numbers rows_, base_;                              // of each cell
        Numbers weight_, one_, own_base_, gone_, spread_;  // of each entry
        std::vector<Numbers> factor_, mine_, said_;        // of each strength, and entry or cell
        Numbers smoothed_;
    };

    const Loops& loops_;
    const ClassRows& with_;
    const CellCandidates& candidates_;
};

}  // namespace tb
