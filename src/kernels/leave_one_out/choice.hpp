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
        clear(classes, e), e = 0;
        for (i64 k = 0; k < classes; ++k, w += column.cells) {
            for (i64 a = 0; a < column.cells; ++a) {
                if (!(w[a] > 0.0)) continue;
                cell[e] = static_cast<i32>(a), of[e] = static_cast<i32>(k), weight[e++] = w[a];
                rows[k] += w[a];
            }
            start[k + 1] = e;
        }
        close(e);
    }
    // The same rows in coarser cells; bin (cells of `fine`) ascends.
    void join(const UsedCells& fine, const i32* bin) {
        const i64 classes = static_cast<i64>(fine.rows.size());
        clear(classes, fine.size());
        i64 n = 0;
        for (i64 k = 0; k < classes; ++k) {
            i32 last = -1;
            for (i64 e = fine.start[k]; e < fine.start[k + 1]; ++e) {
                const i32 b = bin[fine.cell[e]];
                const bool again = b == last;
                n += !again;
                weight[n - 1] = (again ? weight[n - 1] : 0.0) + fine.weight[e];
                cell[n - 1] = last = b, of[n - 1] = static_cast<i32>(k);
                rows[k] += fine.weight[e];
            }
            start[k + 1] = n;
        }
        close(n);
    }
};

// Bins of equally many effective rows, which are rounded, so that the last bits of a common factor on
// all weights move no row over a cut. A heavy value separates what lies on its two sides.
class QuantileBins {
public:
    QuantileBins(const GridColumn& column, const ClassRows& with)
        : weight_(static_cast<std::size_t>(column.cells), 0.0) {
        const double* w = column.counts;
        for (i64 k = 0; k < with.classes; ++k, w += column.cells)
            for (i64 a = 0; a < column.cells; ++a)
                if (w[a] > 0.0) weight_[a] += rounded(w[a] / with.row[k]);
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

class CellScorer {
public:
    CellScorer(const Loops& loops, const ClassRows& with, const CellCandidates& candidates)
        : loops_(loops), with_(with), candidates_(candidates) {}

    // L of each size, NaN where the bins are those of an earlier one, and of each width and strength
    void score(const GridColumn& column, double* bins, double* densities) const {
        UsedCells cells, binned;
        cells.read(column, with_.classes);
        const QuantileBins quantiles(column, with_);
        std::vector<std::vector<i32>> known;
        std::vector<i32> bin;
        for (i64 size : candidates_.sizes) {
            const i64 n = quantiles.cut(size, bin);
            if (std::find(known.begin(), known.end(), bin) != known.end()) {
                *bins++ = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            binned.join(cells, bin.data());
            *bins++ = binned_likelihood(binned, n);
            known.push_back(bin);
        }
        const i64 n = quantiles.cut(candidates_.fine, bin);
        binned.join(cells, bin.data());
        density_likelihoods(binned, n, densities);
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

    static void sum_rows(const UsedCells& used, Numbers& rows) {
        for (i64 e = 0; e < used.size(); ++e) rows[used.cell[e]] += used.weight[e];
    }

    double binned_likelihood(const UsedCells& used, i64 n) const {
        const double each = candidates_.pseudo, S = each * static_cast<double>(n);
        Numbers rows(n, 0.0), said(n, 0.0), ratio(used.size());
        sum_rows(used, rows);
        double smoothed = 0.0, blank = 0.0;
        for (i64 k = 0; k < with_.classes; ++k) {
            if (used.rows[k] == 0.0) {
                blank += with_.prior[k];
                continue;
            }
            const double factor = with_.prior[k] / (used.rows[k] + S);
            smoothed += factor;
            for (i64 e = used.start[k]; e < used.start[k + 1]; ++e)
                said[used.cell[e]] += factor * used.weight[e];
        }
        for (i64 b = 0; b < n; ++b)
            said[b] += each * smoothed + blank * (rows[b] + each) / (used.everyone + S);
        const BinShares given{with_.prior, with_.row, used.rows.data(), rows.data(), said.data(),
                              each, S, used.everyone};
        loops_.bin_shares(given, used.size(), used.cell.data(), used.of.data(), used.weight.data(),
                          ratio.data());
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

    void density_likelihoods(const UsedCells& used, i64 n, double* out) const {
        const i64 E = used.size(), n_strengths = static_cast<i64>(candidates_.strengths.size());
        const double N = used.everyone, u = with_.unit, even = u / static_cast<double>(n);
        Numbers rows(n, 0.0), base(n), own_base(E), left(E), one(E), mine(E);
        sum_rows(used, rows);
        for (i64 b = 0; b < n; ++b) base[b] = (rows[b] + even) / (N + u);
        std::vector<unsigned char> gone(E);
        for (i64 e = 0; e < E; ++e) {
            const i64 k = used.of[e], b = used.cell[e];
            one[e] = with_.one(k, used.weight[e]);
            mine[e] = std::max(with_.prior[k] - one[e], 0.0);
            own_base[e] = (what_is_left(rows[b], one[e]) + even) / (what_is_left(N, one[e]) + u);
            left[e] = what_is_left(used.rows[k], one[e]);
            gone[e] = left[e] == 0.0;
            if (gone[e]) left[e] = what_is_left(N, one[e]);
        }
        // of each strength: what the classes say of rows of a bin, and what the base adds
        std::vector<Numbers> said(n_strengths, Numbers(n, 0.0)), factor(n_strengths, Numbers(E));
        std::vector<Numbers> mine_by(n_strengths, Numbers(E));
        Numbers smoothed(n_strengths, 0.0);
        double blank = 0.0;
        for (i64 k = 0; k < with_.classes; ++k)
            if (used.rows[k] == 0.0) blank += with_.prior[k];
        for (i64 s = 0; s < n_strengths; ++s) {
            const double S = candidates_.strengths[s];
            for (i64 k = 0; k < with_.classes; ++k) {
                if (used.rows[k] == 0.0) continue;
                const double f = with_.prior[k] / (used.rows[k] + S);
                smoothed[s] += f;
                for (i64 e = used.start[k]; e < used.start[k + 1]; ++e) {
                    said[s][used.cell[e]] += f * used.weight[e];
                    factor[s][e] = f;
                    mine_by[s][e] = mine[e] / (left[e] + S);
                }
            }
        }
        Numbers spread(E), own(E), part(E), pooled(n), all(n), by_base(n), ratio(E);
        for (i64 width : candidates_.widths) {
            const Kernel kernel(n, width);
            spread_used(used, kernel, part, spread);
            kernel.spread(rows, pooled);
            const DensityOwn left_over{spread.data(), one.data(), gone.data(), pooled.data(),
                                       kernel.sum.data()};
            loops_.density_own(left_over, E, used.cell.data(), own.data());
            for (i64 s = 0; s < n_strengths; ++s) {
                const double S = candidates_.strengths[s];
                kernel.spread(said[s], all);
                for (i64 b = 0; b < n; ++b) {
                    by_base[b] = S * base[b];
                    all[b] += by_base[b] * smoothed[s] + blank * (pooled[b] + by_base[b]) / (N + S);
                }
                const DensityShares given{factor[s].data(), spread.data(), mine_by[s].data(),
                                          own.data(), own_base.data(), by_base.data(), all.data(), S};
                loops_.density_shares(given, E, used.cell.data(), ratio.data());
                *out++ = likelihood(used, ratio);
            }
        }
    }

    // k_ca of the used cells; `part` is for what each bin gives to one whose weight is 1
    void spread_used(const UsedCells& used, const Kernel& kernel, Numbers& part, Numbers& out) const {
        constexpr i64 FEW = 16;
        const i64 E = used.size();
        loops_.spread_parts(E, used.cell.data(), used.weight.data(), kernel.sum.data(), part.data());
        if (kernel.h == 0) {
            std::copy(part.begin(), part.end(), out.begin());
            return;
        }
        const double* at = kernel.at.data();
        const i32* cell = used.cell.data();
        for (std::size_t k = 0; k + 1 < used.start.size(); ++k) {
            i64 low = used.start[k];
            const i64 begin = low, end = used.start[k + 1];
            for (i64 e = low; e < end; ++e) {
                const i64 a = cell[e];
                double total = 0.0;
                if (end - begin <= FEW) {  // bins farther away than h add 0
                    for (i64 i = begin; i < end; ++i) total += at[std::abs(a - cell[i])] * part[i];
                } else {
                    while (cell[low] < a - kernel.h) ++low;
                    for (i64 i = low; i < end && cell[i] <= a + kernel.h; ++i)
                        total += at[std::abs(a - cell[i])] * part[i];
                }
                out[e] = total;
            }
        }
    }

    const Loops& loops_;
    const ClassRows& with_;
    const CellCandidates& candidates_;
};

}  // namespace tb
