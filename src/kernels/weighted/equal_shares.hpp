// Labels for consecutive values so that labels weigh alike.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

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

}  // namespace tb
