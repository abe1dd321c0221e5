// How well the candidates for a column of numbers separate the classes, each row left out:
//   L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller
// Work follows the cells that hold rows, not classes times cells: what a cell says in the classes
// that it holds no row of enters as one sum over classes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "leave_one_out/counts.hpp"

namespace tb {

// ---- the rows of a column of numbers by class and cell ------------------------------------------
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

// Candidates of cells: bins with additive smoothing, and a density that spreads the counts of fine
// bins. Both are (k_ca + S q_a) / (n_c + S); a class without rows has those of all classes.
struct CellCandidates {
    std::vector<i64> sizes;
    double pseudo;  // rows that each bin is given
    i64 fine;
    std::vector<i64> widths;
    std::vector<double> strengths;  // S
};

// Σ w log ratio; the logarithms take the place of the ratios
inline double log_likelihood(const Loops& loops, const UsedCells& used, std::vector<double>& ratio) {
    loops.logs(used.size(), ratio.data());
    double total = 0.0;
    for (i64 e = 0; e < used.size(); ++e) total += used.weight[e] * ratio[e];
    return total;
}

// rows of each cell, added to those given
inline void sum_rows(const UsedCells& used, std::vector<double>& rows) {
    for (i64 e = 0; e < used.size(); ++e) rows[used.cell[e]] += used.weight[e];
}

// ---- smoothed densities -------------------------------------------------------------------------
// Smoothed densities of a column of numbers, as candidates of its family: fine bins whose rows are
// spread over their neighbours. The formulas are those of families/binned.py.

// Triangular weights between n bins of a kernel of h bins on either side, before each bin's rows
// are divided by their sum.
struct TriangularKernel {
    std::vector<double> at, sum;
    i64 h;
    TriangularKernel(i64 n, i64 width) : at(std::max(n, width + 1), 0.0), sum(n, 0.0), h(width) {
        for (i64 i = 0; i <= h; ++i)
            at[i] = 1.0 - static_cast<double>(i) / (static_cast<double>(h) + 1.0);
        for (i64 b = 0; b < n; ++b)
            for (i64 a = std::max<i64>(b - h, 0); a <= std::min(b + h, n - 1); ++a)
                sum[b] += at[std::abs(a - b)];
    }
    // Σ_b kernel(a, b) x_b of all a
    void spread(const std::vector<double>& x, std::vector<double>& out) const {
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
// is read once; L is summed class by class. One scorer serves many columns and keeps its memory.
class DensityScorer {
public:
    DensityScorer(const Loops& loops, const ClassRows& with, const CellCandidates& candidates)
        : loops_(loops), with_(with), candidates_(candidates), strengths_(candidates.strengths) {}

    // The column that is scored: rows in n bins, which are held.
    void look_at(const UsedCells& used, i64 n) {
        if (n != n_) {
            kernels_.clear();
            for (i64 width : candidates_.widths) kernels_.emplace_back(n, width);
        }
        used_ = &used, n_ = n, E_ = used.size();
        start_.assign(n + 1, 0), at_.resize(E_), share_.resize(E_);
        for (i64 e = 0; e < E_; ++e) ++start_[used.cell[e] + 1];
        for (i64 b = 0; b < n; ++b) start_[b + 1] += start_[b];
        next_.assign(start_.begin(), start_.end() - 1);
        for (i64 e = 0; e < E_; ++e) at_[e] = static_cast<i32>(next_[used.cell[e]]++);
        look_at_rows();
        spread_rows();
    }

    // L of each width and strength, roughly; how many there are
    i64 rough(double* out) {
        const i64 n_strengths = static_cast<i64>(strengths_.size());
        const i64 n = static_cast<i64>(kernels_.size()) * n_strengths;
        for (i64 i = 0; i < n; ++i) {
            if (i % n_strengths == 0) look_at_width(i / n_strengths);
            shares(i % n_strengths);
            out[i] = unit_ * loops_.log_sum(E_, weight_.data(), share_.data(), few_);
        }
        return n;
    }

    // L of one
    double likelihood(i64 i) {
        const i64 n_strengths = static_cast<i64>(strengths_.size());
        look_at_width(i / n_strengths);
        shares(i % n_strengths);
        ratio_.resize(E_);
        for (i64 e = 0; e < E_; ++e) ratio_[e] = share_[at_[e]];
        return log_likelihood(loops_, *used_, ratio_);
    }

private:
    using Numbers = std::vector<double>;

    // what no width changes
    void look_at_rows() {
        const i64 K = with_.classes;
        const std::size_t n_strengths = strengths_.size();
        const double u = with_.unit, even = u / static_cast<double>(n_);
        const UsedCells& used = *used_;
        N_ = used.everyone, blank_ = 0.0;
        rows_.assign(n_, 0.0), base_.resize(n_);
        sum_rows(used, rows_);
        for (i64 b = 0; b < n_; ++b) base_[b] = (rows_[b] + even) / (N_ + u);
        for (Numbers* each : {&left_own_, &left_, &held_, &prior_, &row_, &weight_, &one_, &own_base_,
                              &gone_})
            each->resize(E_);
        by_class_.resize(K);
        for (i64 k = 0; k < K; ++k)
            if (used.rows[k] == 0.0) blank_ += with_.prior[k];
        for (i64 e = 0; e < E_; ++e) {
            const i64 i = at_[e], k = used.of[e];
            weight_[i] = used.weight[e], held_[i] = used.rows[k];
            prior_[i] = with_.prior[k], row_[i] = with_.row[k];
        }
        const DensityRows given{weight_.data(), held_.data(), prior_.data(), row_.data(),
                                rows_.data(), N_, even, u};
        loops_.density_rows(given, n_, start_.data(), one_.data(), left_own_.data(), left_.data(),
                            own_base_.data(), gone_.data());
        said_.resize(n_strengths), smoothed_.assign(n_strengths, 0.0);
        factor_.resize(n_strengths), mine_.resize(n_strengths);
        for (std::size_t s = 0; s < n_strengths; ++s) {
            const double S = strengths_[s];
            for (i64 k = 0; k < K; ++k) {
                by_class_[k] = with_.prior[k] / (used.rows[k] + S);
                if (used.rows[k] > 0.0) smoothed_[s] += by_class_[k];
            }
            said_[s].assign(n_, 0.0), factor_[s].resize(E_), mine_[s].resize(E_);
            for (i64 e = 0; e < E_; ++e)
                said_[s][used.cell[e]] += by_class_[used.of[e]] * used.weight[e];
            loops_.ratios(E_, prior_.data(), held_.data(), S, factor_[s].data());
            loops_.ratios(E_, left_own_.data(), left_.data(), S, mine_[s].data());
        }
        unit_ = E_ ? *std::min_element(weight_.begin(), weight_.end()) : 1.0;
        share_.resize(E_);
        for (i64 e = 0; e < E_; ++e) share_[e] = weight_[e] / unit_;
        few_ = true;
        for (double times : share_)
            few_ &= (times == 1.0) | (times == 2.0) | (times == 3.0) | (times == 4.0);
        if (few_) std::swap(weight_, share_);
        else unit_ = 1.0;
    }

    // k_ca of the entries, of each width
    void spread_rows() {
        const UsedCells& used = *used_;
        const i64 n_widths = static_cast<i64>(kernels_.size());
        spread_.resize(n_widths * E_);
        for (i64 first = 0; first < n_widths; first += LANES) {
            const i64 here = std::min(LANES, n_widths - first);
            i64 reach = 0, longest = 0;
            for (i64 l = 0; l < here; ++l) reach = std::max(reach, kernels_[first + l].h);
            for (std::size_t k = 0; k + 1 < used.start.size(); ++k)
                longest = std::max(longest, used.start[k + 1] - used.start[k]);
            Numbers at((reach + 1) * LANES, 0.0), sum(n_ * LANES, 1.0);
            part_.resize(longest * LANES);
            for (i64 l = 0; l < here; ++l) {
                const TriangularKernel& kernel = kernels_[first + l];
                for (i64 i = 0; i <= kernel.h; ++i) at[i * LANES + l] = kernel.at[i];
                for (i64 b = 0; b < n_; ++b) sum[b * LANES + l] = kernel.sum[b];
            }
            const SpreadRows given{used.start.data(), used.cell.data(), at_.data(),
                                   used.weight.data(), at.data(), sum.data(), reach};
            loops_.spread_rows(given, static_cast<i64>(used.start.size()) - 1, here, part_.data(),
                               spread_.data() + first * E_, E_);
        }
    }

    // what no strength changes
    void look_at_width(i64 width) {
        const TriangularKernel& kernel = kernels_[width];
        width_ = width, own_.resize(E_), pooled_.resize(n_);
        kernel.spread(rows_, pooled_);
        const DensityOwn given{spread_.data() + width * E_, one_.data(), gone_.data(), pooled_.data(),
                               kernel.sum.data()};
        loops_.density_own(given, n_, start_.data(), own_.data());
    }

    void shares(i64 s) {
        const double S = strengths_[s];
        all_.resize(n_), by_base_.resize(n_);
        kernels_[width_].spread(said_[s], all_);
        for (i64 b = 0; b < n_; ++b) {
            by_base_[b] = S * base_[b];
            all_[b] += by_base_[b] * smoothed_[s] +
                       blank_ * (pooled_[b] + by_base_[b]) / (N_ + S);
        }
        const DensityShares given{factor_[s].data(), spread_.data() + width_ * E_, mine_[s].data(),
                                  own_.data(), own_base_.data(), by_base_.data(), all_.data(), S};
        loops_.density_shares(given, n_, start_.data(), share_.data());
    }

    static constexpr i64 LANES = 8;
    const Loops& loops_;
    const ClassRows& with_;
    const CellCandidates& candidates_;
    const std::vector<double>& strengths_;
    const UsedCells* used_ = nullptr;
    i64 n_ = -1, E_ = 0, width_ = 0;
    std::vector<i64> start_, next_;  // (cells + 1,): the entries of each cell
    std::vector<i32> at_;            // where each entry stands
    std::vector<TriangularKernel> kernels_;
    double N_ = 0.0, blank_ = 0.0, unit_ = 1.0;
    bool few_ = false;  // whether no weight is more than four times the least, and all are whole
    Numbers by_class_, part_;
    Numbers rows_, base_, pooled_, all_, by_base_;  // of each cell
    // of each entry: its rows, what is taken out, what that leaves of it and its class
    Numbers weight_, one_, own_base_, gone_, spread_, left_own_, left_, held_, prior_, row_;
    Numbers own_, share_, ratio_;
    std::vector<Numbers> factor_, mine_, said_;  // of each strength, and entry or cell
    Numbers smoothed_;
};

// ---- bins, and densities beside them ------------------------------------------------------------
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

        double best = NEVER;
        for (i64 i = 0; i < n_sizes; ++i) best = std::max(best, bins[i]);
        for (i64 i = 0; i < n_densities; ++i) best = std::max(best, densities[i]);
        best -= ROUGHLY * std::abs(best) + 1e-12 * cells.everyone;
        for (i64 i = 0; i < n_densities; ++i)
            densities[i] = densities[i] < best ? NEVER
                                               : density_.likelihood(i);
        for (i64 i = 0; i < n_sizes; ++i) {
            if (n_bins[i] == 0) continue;
            if (bins[i] < best) {
                bins[i] = NEVER;
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

// ---- one Gaussian for each class, and atoms -----------------------------------------------------
// How well one Gaussian for each class separates the classes, each row left out, and whether some
// values of a column are atoms. The formulas are those of families/gaussian.py.

struct ClassMoments {  // n, the mean, and the squares about it
    double n, mean, squares;

    double variance() const { return std::max(squares, 0.0) / std::max(n, 1e-300); }

    // After a row is taken out; `lost` where it leaves too few digits of what the others have.
    ClassMoments without(double x, double weight, bool& lost) const {
        const double left = n - weight <= 0x1p-40 * n ? 0.0 : n - weight;
        lost = false;
        if (!(left > 0.0)) return {0.0, mean, 0.0};
        const double apart = x - mean, taken = apart * apart * weight * n / left;
        const double rest = squares - taken, far = std::abs(apart);
        const double digits = far / std::max(far + std::abs(mean), SMALLEST_NUMBER);
        lost = taken > FEWER_DIGITS * rest * digits || n > FEWER_DIGITS * left;
        return {left, mean - apart * weight / left, std::max(rest, 0.0)};
    }
};

struct GaussianColumn {
    const double* values;                     // (cells,)
    const double *n, *mean, *squares;         // (classes,)
    const double *centre, *constant, *scale;  // log n N(x) = constant − ((x − centre) scale)²
    ClassMoments everyone;
    bool exact;     // whether each cell holds one value
    double enough;  // an L below it need not be exact
};

struct GaussianReading {
    double rows;   // of all classes, that each is given
    double less;   // than the rows of a class, to divide its squares by
    double least;  // variance
};

// One scorer serves many columns and keeps its memory.
class GaussianScorer {
public:
    GaussianScorer(const Loops& loops, const ClassRows& with, const GaussianReading& as)
        : loops_(loops), with_(with), as_(as) {
        for (i64 k = 0; k < with.classes; ++k) prior_ += with.prior[k];
    }

    // L; NaN where digits are lost that the cells do not give
    double score(const GridColumn& grid, const GaussianColumn& column) {
        const i64 K = with_.classes;
        const Others others(*this, grid, column);
        Numbers own_scale(K), mass(K), scaled(K), after(K), scaled_after(K);
        Numbers other_mass(K), other_scaled(K), other_scale(K);  // summed over the other classes
        for (i64 k = 0; k < K; ++k) own_scale[k] = with_.prior[k] / (column.n[k] + as_.rows);
        sums_of_others(own_scale, other_scale, after);
        used_.read(grid, K);
        const GaussianOthers given{column.n, column.mean, column.squares, others.rows.data(),
                                   others.all_squares.data(), others.squares.data(),
                                   others.freedom.data(), as_.less, as_.least};
        const GaussianShares of_all{column.n, with_.prior, other_mass.data(), other_scaled.data(),
                                    other_scale.data(), as_.rows, others.everyone, prior_};
        const i64 room = padded(K);
        Numbers left(room), ones(room), logs(2 * room), share(room), odd(room);
        double total = 0.0;
        for (i64 a = 0; a < grid.cells && !(total < column.enough); ++a) {
            const double x = column.values[a];
            const i32* of = used_.of.data() + used_.start[a];
            const double* weight = used_.weight.data() + used_.start[a];
            const i64 n = used_.start[a + 1] - used_.start[a];
            double top = loops_.gaussian_mass(K, x, column.constant, column.centre, column.scale,
                                              mass.data());
            const i64 n_padded = padded(n);
            for (i64 i = 0; i < n_padded; ++i) ones[i] = with_.one(of[i], weight[i]);
            double *variances = logs.data(), *rows = logs.data() + n_padded;
            loops_.gaussian_left(given, x, n, of, ones.data(), variances, left.data(), rows,
                                 odd.data());
            for (i64 i = 0; i < n; ++i) {
                if (odd[i] == 0.0) continue;
                bool lost = false;
                const Left own = others.left(of[i], a, ones[i], lost);
                if (lost) return std::numeric_limits<double>::quiet_NaN();
                variances[i] = own.variance, left[i] = own.square, rows[i] = own.rows;
            }
            for (i64 i = 0; i < n_padded; ++i) variances[i] *= 6.283185307179586;
            // log of n times the density
            loops_.logs(2 * n_padded, logs.data());
            for (i64 i = 0; i < n; ++i) {
                left[i] = -0.5 * (variances[i] + left[i]) + rows[i];
                if (left[i] > top) top = left[i];
            }
            if (!std::isfinite(top)) top = 0.0;
            for (i64 k = 0; k < K; ++k) mass[k] -= top;
            for (i64 i = 0; i < n; ++i) left[i] -= top;
            loops_.exps_of(K, mass.data());
            loops_.exps_of(n, left.data());
            for (i64 k = 0; k < K; ++k) scaled[k] = mass[k] * own_scale[k];
            sums_of_others(mass, other_mass, after, scaled, other_scaled, scaled_after);
            loops_.gaussian_shares(of_all, n, of, ones.data(), left.data(), share.data());
            loops_.logs(n, share.data());
            for (i64 i = 0; i < n; ++i) total += weight[i] * share[i];
        }
        return total;
    }

private:
    using Numbers = std::vector<double>;

    static i64 padded(i64 n) { return (n + 7) / 8 * 8; }

    // Σ over the classes before each plus Σ over those after it: nothing is taken away. `after`
    // is for the second.
    static void sums_of_others(const Numbers& x, Numbers& others, Numbers& after) {
        const i64 n = static_cast<i64>(x.size());
        double low = 0.0, high = 0.0;
        for (i64 k = 0, l = n - 1; k < n; ++k, --l) {
            others[k] = low, low += x[k];
            after[l] = high, high += x[l];
        }
        for (i64 k = 0; k < n; ++k) others[k] += after[k];
    }

    // The same of two at once: four sums that do not wait for each other.
    static void sums_of_others(const Numbers& x, Numbers& others, Numbers& after, const Numbers& y,
                               Numbers& y_others, Numbers& y_after) {
        const i64 n = static_cast<i64>(x.size());
        double low = 0.0, high = 0.0, y_low = 0.0, y_high = 0.0;
        for (i64 k = 0, l = n - 1; k < n; ++k, --l) {
            others[k] = low, low += x[k];
            after[l] = high, high += x[l];
            y_others[k] = y_low, y_low += y[k];
            y_after[l] = y_high, y_high += y[l];
        }
        for (i64 k = 0; k < n; ++k) others[k] += after[k], y_others[k] += y_after[k];
    }

    // The classes with rows in each cell, one cell after the other, and how many they have; a few
    // more entries follow, for vectors that reach beyond the last cell.
    struct UsedClasses {
        UsedCells cells;
        std::vector<i64> start, next;  // (cells + 1,)
        std::vector<i32> of;
        Numbers weight;

        void read(const GridColumn& grid, i64 classes) {
            cells.read(grid, classes);
            start.assign(static_cast<std::size_t>(grid.cells) + 1, 0);
            for (i32 a : cells.cell) ++start[a + 1];
            for (i64 a = 0; a < grid.cells; ++a) start[a + 1] += start[a];
            next.assign(start.begin(), start.end() - 1);
            of.assign(cells.cell.size() + 8, 0), weight.assign(cells.cell.size() + 8, 0.0);
            for (i64 e = 0; e < cells.size(); ++e) {
                const i64 i = next[cells.cell[e]]++;
                of[i] = cells.of[e], weight[i] = cells.weight[e];
            }
        }
    };

    bool has_spread(double n, double squares, double typical) const {
        const double least = std::max(SPREADLESS * typical, SMALLEST_NUMBER);
        return n - as_.less > HARDLY_ROWS * n && squares > least * n;
    }

    struct Left {  // of a class after a row at x is taken out
        double variance, square, rows;  // square = (x − mean)² / variance
    };

    // A column, and what the other classes give to the spread within classes.
    struct Others {
        const GaussianScorer& of;
        const GridColumn& grid;
        const GaussianColumn& column;
        Numbers squares, freedom, all_squares, rows;
        double everyone = 0.0;

        Others(const GaussianScorer& scorer, const GridColumn& cells, const GaussianColumn& c)
            : of(scorer), grid(cells), column(c) {
            const i64 K = scorer.with_.classes;
            Numbers held(K), divisor(K), any(c.squares, c.squares + K), n(c.n, c.n + K), after(K);
            double sum = 0.0;
            for (i64 k = 0; k < K; ++k) sum += std::max(c.squares[k], 0.0), everyone += n[k];
            const double typical = sum / std::max(everyone, SMALLEST_NUMBER);
            for (i64 k = 0; k < K; ++k) {
                const bool has = scorer.has_spread(n[k], std::max(c.squares[k], 0.0), typical);
                held[k] = has ? c.squares[k] : 0.0, divisor[k] = has ? n[k] - scorer.as_.less : 0.0;
            }
            auto of_others = [&](const Numbers& x, Numbers& out) {
                out.resize(static_cast<std::size_t>(K));
                sums_of_others(x, out, after);
            };
            of_others(held, squares), of_others(divisor, freedom);
            of_others(any, all_squares), of_others(n, rows);
        }

        // The moments of the cells of classes first … last − 1 about a point near them, `weight`
        // taken out of those of class k and cell a.
        ClassMoments counted(i64 first, i64 last, double about, i64 k, i64 a, double weight) const {
            auto over = [&](auto add) {
                for (i64 c = first; c < last; ++c)
                    for (i64 i = 0; i < grid.cells; ++i) {
                        double w = grid.counts[c * grid.cells + i];
                        if (c == k && i == a) w = rest_of(w, weight);
                        if (w > 0.0) add(w, column.values[i]);
                    }
            };
            double n = 0.0, sum = 0.0, squares_about = 0.0;
            over([&](double w, double x) { n += w, sum += w * (x - about); });
            const double mean = about + sum / n;
            over([&](double w, double x) { squares_about += w * (x - mean) * (x - mean); });
            return {n, mean, squares_about};
        }

        // class k after a row of cell a is taken out
        Left left(i64 k, i64 a, double one, bool& lost) const {
            const double x = column.values[a];
            ClassMoments own = ClassMoments{column.n[k], column.mean[k], column.squares[k]}.without(
                x, one, lost);
            if (lost) {
                if (!column.exact) return {};
                own = counted(k, k + 1, own.mean, k, a, one), lost = false;
            }
            const double typical =
                (all_squares[k] + own.squares) / std::max(rows[k] + own.n, SMALLEST_NUMBER);
            const bool has = of.has_spread(own.n, own.squares, typical), blank = own.n == 0.0;
            const bool by_all = !has && (blank || !(freedom[k] > 0.0));
            double variance = has ? own.squares / (own.n - of.as_.less)
                                  : by_all ? 0.0 : squares[k] / freedom[k];
            double centre = own.mean;
            if (by_all || variance < SMALLEST_NUMBER) {
                ClassMoments all = column.everyone.without(x, one, lost);
                if (lost) {
                    if (!column.exact) return {};
                    all = counted(0, of.with_.classes, all.mean, k, a, one), lost = false;
                }
                if (by_all) variance = all.variance();
                if (blank) centre = all.mean;
                const double floor = SPREADLESS * all.variance();
                if (variance < SMALLEST_NUMBER) variance = floor < SMALLEST_NUMBER ? 1.0 : floor;
            }
            variance = std::max(variance, of.as_.least);
            const double t = x - centre;
            return {variance, t * t / variance, rest_of(column.n[k], one)};
        }
    };

    const Loops& loops_;
    const ClassRows& with_;
    const GaussianReading& as_;
    double prior_ = 0.0;
    UsedClasses used_;
};

// Whether some values of a column repeat more than a density allows.
inline bool has_atoms(const GridColumn& grid, const double* values, i64 classes, double row) {
    constexpr i64 REACH = 4;
    constexpr double FEWEST = 5.0, TIMES = 5.0;
    const i64 n = grid.cells;
    if (n < 3) return false;
    std::vector<double> rows(n, 0.0), before(n + 1, 0.0);
    for (i64 k = 0; k < classes; ++k)
        for (i64 a = 0; a < n; ++a) rows[a] += grid.counts[k * n + a];
    for (i64 a = 0; a < n; ++a) before[a + 1] = before[a] + rows[a];
    i64 found = 0;
    for (i64 a = 0; a < n; ++a) {
        if (!(rows[a] >= FEWEST * row)) continue;
        const i64 low = std::max<i64>(a - REACH, 0), high = std::min(a + REACH, n - 1);
        double gaps[2 * REACH];
        const i64 n_gaps = high - low;
        for (i64 i = 0; i < n_gaps; ++i) {  // in order
            const double gap = values[low + i + 1] - values[low + i];
            i64 j = i;
            for (; j > 0 && gaps[j - 1] > gap; --j) gaps[j] = gaps[j - 1];
            gaps[j] = gap;
        }
        const double pitch = 0.5 * gaps[(n_gaps - 1) / 2] + 0.5 * gaps[n_gaps / 2];
        bool atom = true;
        for (i64 side : {low, high}) {
            const double held =
                side == low ? before[a] - before[low] : before[high + 1] - before[a + 1];
            const double away = std::nearbyint(std::abs(values[a] - values[side]) / pitch);
            const i64 apart = std::max<i64>(std::abs(a - side), 1);
            const double places = std::max(static_cast<double>(apart), away);
            atom &= away == away && rows[a] >= TIMES * (held / places);
        }
        found += atom;
    }
    return found > 0;
}

// ---- negative binomials -------------------------------------------------------------------------
// Negative binomials of a column of counts: their sizes, and how well they tell the classes apart,
// each row left out of its class's mean and size. The formulas are those of
// families/negative_binomial.py. For whole x,
//   ψ(r + x) − ψ(r) = Σ_{i<x} 1 / (r + i)   and   log Γ(r + x) − log Γ(r) = Σ_{i<x} log(r + i).

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
        const double n = rest_of(n_[k], w), total = rest_of(total_[k], w * x);
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
        if (!(n > 0.0) || (x > 0.0 && !(mean > 0.0))) return NEVER;
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
                const double one = with.one(own, count), left_all = rest_of(n_all, one);
                const double sum_left = rest_of(total_all, one * x);
                const double overall = left_all > 0.0 ? sum_left / left_all : 1.0;
                auto mass_of = [&](i64 k, double w, bool again) {
                    const double n = rest_of(n_[k], w);
                    const double total = n > 0.0 ? rest_of(total_[k], w * x) : 0.0;
                    const double mean = (total + alpha * overall) / (n + alpha);
                    const double size = again ? std::exp(this->size(k, x, w)) : r[k];
                    return log_mass(x, n, mean, size, again ? log_rising(size, whole) : ways[k]);
                };
                if (one != taken) {
                    for (i64 k = 0; k < K_; ++k) others[k] = mass_of(k, 0.0, false);
                    taken = one;
                }
                double top = NEVER;
                double sum = 0.0, all = 0.0, n_left = 0.0;
                for (i64 k = 0; k < K_; ++k) {
                    mass[k] = k == own ? mass_of(k, one, exact) : others[k];
                    top = std::max(top, mass[k]);
                    n_left += rest_of(n_[k], k == own ? one : 0.0);
                }
                for (i64 k = 0; k < K_; ++k)
                    sum += mass[k] = std::isfinite(top) ? std::exp(mass[k] - top) : 1.0;
                const double share = pooled * sum / std::max(n_left, 1e-300);
                double mine = 0.0;
                for (i64 k = 0; k < K_; ++k) {
                    const double w = k == own ? one : 0.0, n = rest_of(n_[k], w);
                    const double prior = rest_of(with.prior[k], w);
                    const double mean_mass = (mass[k] + share) / (n + pooled);
                    const double joint = prior * (std::isfinite(top) ? mean_mass : 1.0);
                    all += joint;
                    if (k == own) mine = joint;
                }
                result += count * std::log(mine / all);
            }
        }
        return result == result ? result : NEVER;
    }

    const GridColumn grid_;
    const double* values_;
    const i64 K_, most_;
    std::vector<i64> reach_;  // the largest value of each class
    std::vector<double> n_, total_, squares_, above_, size_;  // above: rows above 0, 1, …
};

}  // namespace tb
