// Smoothed densities of a column of numbers, as candidates of its family: fine bins whose rows are
// spread over their neighbours. The formulas are those of families/smooth.py.
#pragma once
#include <cmath>

#include "leave_one_out/choice_cells.hpp"

namespace tb {

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

}  // namespace tb
