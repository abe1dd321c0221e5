// Cells of a number: where they are cut, and counts summed over neighbouring ones.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

// ---- equal shares -------------------------------------------------------------------------------
// Labels for consecutive values so that labels weigh alike.

// label (n,) becomes 0, …, ascending, about `most` labels of values that weigh `total` together. A value
// heavier than an equal share of what the lighter ones leave is by itself, and separates what lies on
// its two sides.
inline void equal_shares(const double* weight, i64 n, double total, i64 most, i64* label) {
    constexpr double ROUNDING = 1e-12, LEAST_SHARE = 1e-300;
    std::vector<i64> order(n);
    std::iota(order.begin(), order.end(), i64(0));
    std::stable_sort(order.begin(), order.end(),
                     [=](i64 a, i64 b) { return weight[a] > weight[b]; });
    std::vector<bool> alone(n, false);
    double rest = total;
    i64 left = most;
    for (const i64 i : order) {
        if (left <= 1 || weight[i] < rest / static_cast<double>(left)) break;
        alone[i] = true;
        rest -= weight[i];
        --left;
    }
    const double share = std::max(rest / static_cast<double>(std::max<i64>(left, 1)), LEAST_SHARE);
    double held = 0.0;
    i64 at = 0;
    for (i64 i = 0; i < n; ++i) {
        if (i && (alone[i] || alone[i - 1] || held >= share * (1.0 - ROUNDING))) {
            ++at;
            held = 0.0;
        }
        held += weight[i];
        label[i] = at;
    }
}

// ---- neighbouring cells -------------------------------------------------------------------------
// Counts of a number's cells, summed over neighbouring cells by triangular kernels.
//
// Cell i weighs cell j by max(0, 1 − |a_i − a_j| / h), a where the cells lie, ascending, and h a
// width. With N_i = Σ_{j ≤ i} C_j and M_i = Σ_{j ≤ i} a_j·C_j the sum over the cells on one side is
// (1 ∓ a_i / h)·ΔN ± ΔM / h, so that each width costs two differences a cell.

struct NumberCells {
    const double* counts;  // (cells, classes)
    i64 cells, classes;
    const double* at;  // of the first `numbers` cells; the others have no neighbours
    i64 numbers;
};

class NeighbourSums {
public:
    explicit NeighbourSums(const NumberCells& of) : of_(of) {
        const i64 K = of.classes;
        rows_.assign((of.numbers + 1) * K, 0.0);
        places_.assign((of.numbers + 1) * K, 0.0);
        for (i64 i = 0; i < of.numbers; ++i)
            for (i64 k = 0; k < K; ++k) {
                const double c = of.counts[i * K + k];
                rows_[(i + 1) * K + k] = rows_[i * K + k] + c;
                places_[(i + 1) * K + k] = places_[i * K + k] + of.at[i] * c;
            }
    }
    // into (cells, classes) become the sums of one width.
    void write(double width, double* into) const {
        const i64 K = of_.classes, n = of_.numbers;
        for (i64 i = 0, begin = 0, end = 0; i < n; ++i) {
            while (begin < n && of_.at[begin] < of_.at[i] - width) ++begin;
            while (end < n && of_.at[end] <= of_.at[i] + width) ++end;
            const double here = of_.at[i] / width;
            for (i64 k = 0; k < K; ++k) {
                const i64 from = begin * K + k, upto = (i + 1) * K + k, to = end * K + k;
                const double left = rows_[upto] - rows_[from], right = rows_[to] - rows_[upto];
                const double apart =
                    ((places_[to] - places_[upto]) - (places_[upto] - places_[from])) / width;
                into[i * K + k] = (1.0 - here) * left + (1.0 + here) * right - apart;
            }
        }
        for (i64 j = n * K; j < of_.cells * K; ++j) into[j] = of_.counts[j];
    }

private:
    const NumberCells& of_;
    std::vector<double> rows_, places_;  // N and M, (numbers + 1, classes), from 0 on
};

}  // namespace tb
