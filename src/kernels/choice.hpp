// How well the candidates for a column of numbers tell the classes apart, each row left out:
//   L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller
// Work follows the cells that hold rows, not classes times cells: what a cell says in the classes
// that it holds no row of enters as one sum over classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "loop_table.hpp"
#include "parallel.hpp"
#include "view.hpp"

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
    std::vector<i32> cell, of;   // the class of each
    std::vector<double> weight;
    std::vector<i64> start;      // (classes + 1,)
    std::vector<double> rows;    // of each class
    double everyone = 0.0;
    i64 size() const { return static_cast<i64>(cell.size()); }

    void clear(i64 classes) {
        cell.clear(), of.clear(), weight.clear(), everyone = 0.0;
        start.assign(static_cast<std::size_t>(classes) + 1, 0);
        rows.assign(static_cast<std::size_t>(classes), 0.0);
    }
    void add(i64 k, i32 a, double w) {
        if (start[k + 1] && cell.back() == a) {
            weight.back() += w;
        } else {
            cell.push_back(a), of.push_back(static_cast<i32>(k)), weight.push_back(w);
            ++start[k + 1];
        }
        rows[k] += w;
    }
    void close() {
        for (std::size_t k = 0; k < rows.size(); ++k) start[k + 1] += start[k], everyone += rows[k];
    }
    void read(const GridColumn& column, i64 classes) {
        clear(classes);
        const double* w = column.counts;
        for (i64 k = 0; k < classes; ++k, w += column.cells)
            for (i64 a = 0; a < column.cells; ++a)
                if (w[a] > 0.0) add(k, static_cast<i32>(a), w[a]);
        close();
    }
    // The same rows in coarser cells; bin (cells of `fine`) ascends.
    void join(const UsedCells& fine, const i32* bin) {
        clear(static_cast<i64>(fine.rows.size()));
        for (i64 e = 0; e < fine.size(); ++e) add(fine.of[e], bin[fine.cell[e]], fine.weight[e]);
        close();
    }
};

// Bins of equally many effective rows: see quantile_bins in families/bins.py, which counts alike.
class QuantileBins {
public:
    QuantileBins(const UsedCells& used, i64 cells, const ClassRows& with)
        : weight_(static_cast<std::size_t>(cells), 0.0) {
        for (i64 e = 0; e < used.size(); ++e)
            weight_[used.cell[e]] += std::nearbyint(used.weight[e] / with.row[used.of[e]] * 1e9) / 1e9;
        for (double w : weight_) total_ += w;
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
        const QuantileBins quantiles(cells, column.cells, with_);
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

    static double share(double mine, double rest) { return mine > 0.0 ? mine / (rest + mine) : 0.0; }

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
        for (i64 e = 0; e < used.size(); ++e) {
            const i64 k = used.of[e], b = used.cell[e];
            const double w = used.weight[e], one = with_.one(k, w);
            double count = what_is_left(w, one), whole = what_is_left(used.rows[k], one);
            if (whole == 0.0)
                count = what_is_left(rows[b], one), whole = what_is_left(used.everyone, one);
            const double mine = std::max(with_.prior[k] - one, 0.0) * (count + each) / (whole + S);
            const double full = with_.prior[k] * (w + each) / (used.rows[k] + S);
            ratio[e] = share(mine, std::max(said[b] - full, 0.0));
        }
        return likelihood(used, ratio);
    }

    // Triangular weights between n bins of a kernel of h bins on either side, before each bin's rows
    // are divided by their sum.
    struct Kernel {
        std::vector<double> at, sum;
        i64 h;
        Kernel(i64 n, i64 width) : sum(n, 0.0), h(width) {
            for (i64 i = 0; i <= h; ++i)
                at.push_back(1.0 - static_cast<double>(i) / (static_cast<double>(h) + 1.0));
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
        std::vector<char> gone(E);
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
        Numbers spread(E), own(E), pooled(n), all(n), ratio(E);
        for (i64 width : candidates_.widths) {
            const Kernel kernel(n, width);
            spread_used(used, kernel, spread);
            kernel.spread(rows, pooled);
            for (i64 e = 0; e < E; ++e) {
                const i64 b = used.cell[e];
                own[e] = what_is_left(gone[e] ? pooled[b] : spread[e], one[e] / kernel.sum[b]);
            }
            for (i64 s = 0; s < n_strengths; ++s) {
                const double S = candidates_.strengths[s];
                kernel.spread(said[s], all);
                for (i64 b = 0; b < n; ++b)
                    all[b] += S * base[b] * smoothed[s] + blank * (pooled[b] + S * base[b]) / (N + S);
                for (i64 e = 0; e < E; ++e) {
                    const i64 b = used.cell[e];
                    const double full = factor[s][e] * (spread[e] + S * base[b]);
                    ratio[e] = share(mine_by[s][e] * (own[e] + S * own_base[e]),
                                     std::max(all[b] - full, 0.0));
                }
                *out++ = likelihood(used, ratio);
            }
        }
    }

    // k_ca of the used cells
    static void spread_used(const UsedCells& used, const Kernel& kernel, Numbers& out) {
        for (std::size_t k = 0; k + 1 < used.start.size(); ++k) {
            i64 low = used.start[k];
            const i64 end = used.start[k + 1];
            for (i64 e = low; e < end; ++e) {
                const i64 a = used.cell[e];
                while (used.cell[low] < a - kernel.h) ++low;
                double total = 0.0;
                for (i64 i = low; i < end && used.cell[i] <= a + kernel.h; ++i) {
                    const i64 b = used.cell[i];
                    total += kernel.at[std::abs(a - b)] * (used.weight[i] / kernel.sum[b]);
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
