// What counts say by a table of 0, 1, …: a column whose density has no simple form.
#pragma once
#include <cmath>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

// Adds table[x[i]] (classes) to the scores (n, classes) of each row. A missing value (NaN) adds
// nothing. Other numbers that the table does not have, fractions among them, add nothing either and
// are marked in beyond (n).
inline void add_of_counts(const double* x, i64 n, const double* table, i64 known, i64 classes,
                          double* scores, unsigned char* beyond, int threads) {
    constexpr i64 ROWS = 1 << 13;
    const i64 tasks = (n + ROWS - 1) / ROWS;
    const auto end_of_table = static_cast<double>(known);
    run_tasks(tasks, threads_for(n * classes, tasks, threads), [&](i64 task, int) {
        const i64 end = (task + 1) * ROWS < n ? (task + 1) * ROWS : n;
        for (i64 i = task * ROWS; i < end; ++i) {
            const bool inside = x[i] >= 0.0 && x[i] < end_of_table && x[i] == std::floor(x[i]);
            beyond[i] = !inside && x[i] == x[i];
            if (!inside) continue;
            const double* add = table + static_cast<i64>(x[i]) * classes;
            for (i64 k = 0; k < classes; ++k) scores[i * classes + k] += add[k];
        }
    });
}

}  // namespace tb
