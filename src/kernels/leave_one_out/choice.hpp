// How well the candidates for a column of numbers separate the classes, each row left out:
//   L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller
// Work follows the cells that hold rows, not classes times cells: what a cell says in the classes
// that it holds no row of enters as one sum over classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "leave_one_out/choice_density.hpp"

namespace tb {

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

// What is computed of all candidates is rough: rounding in another order, far below this share of L.
// Only those so near the best are computed once more, in the order that decides the last bits.
constexpr double ROUGHLY = 1e-8;

// One scorer serves many columns and keeps its memory.
class CellScorer {
public:
    CellScorer(const Loops& loops, const ClassRows& with, const CellCandidates& candidates)
        : loops_(loops), with_(with), candidates_(candidates), density_(loops, with, candidates) {}

    // L of each size, NaN where the bins are those of an earlier one, and of each width and strength;
    // −∞ where it is below another by more than rounding
    void score(const GridColumn& column, double* bins, double* densities) {
        UsedCells &cells = cells_, &binned = binned_;
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
            if (again) continue;
            bins[i] = binned_likelihood(joined(cells, column.cells, bin, n, binned), n, true);
        }
        const i64 n = quantiles.cut(candidates_.fine, bin);
        density_.look_at(joined(cells, column.cells, bin, n, fine_), n);
        const i64 n_densities = density_.rough(densities);

        double best = -std::numeric_limits<double>::infinity();
        for (i64 i = 0; i < n_sizes; ++i) best = std::max(best, bins[i]);
        for (i64 i = 0; i < n_densities; ++i) best = std::max(best, densities[i]);
        best -= ROUGHLY * std::abs(best) + 1e-12 * cells.everyone;
        for (i64 i = 0; i < n_densities; ++i)
            densities[i] = densities[i] < best ? -std::numeric_limits<double>::infinity()
                                               : density_.likelihood(i);
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

    // rows of `fine` cells in n bins; `room` is for them
    static const UsedCells& joined(const UsedCells& fine, i64 cells, const std::vector<i32>& bin,
                                   i64 n, UsedCells& room) {
        if (n == cells) return fine;
        room.join(fine, bin.data());
        return room;
    }

    double binned_likelihood(const UsedCells& used, i64 n, bool rough) {
        const double each = candidates_.pseudo, S = each * static_cast<double>(n);
        Numbers &rows = rows_, &said = said_, &ratio = ratio_, &factor = factor_;
        rows.assign(n, 0.0), said.assign(n, 0.0);
        ratio.resize(used.size()), factor.resize(with_.classes);
        sum_rows(used, rows);
        double smoothed = 0.0, blank = 0.0;
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
        return log_likelihood(loops_, used, ratio);
    }

    const Loops& loops_;
    const ClassRows& with_;
    const CellCandidates& candidates_;
    DensityScorer density_;
    UsedCells cells_, binned_, fine_;
    Numbers rows_, said_, ratio_, factor_;  // for binned_likelihood
};

}  // namespace tb
