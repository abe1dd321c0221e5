// Which bin of a column each number falls into, as entries of a table of log-probabilities.
#pragma once
#include <atomic>
#include <limits>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

// Edges with a length that is a power of two: what is beyond them is infinite, and so above every
// number. Every number then takes the same steps of a search.
struct Edges {
    i64 size = 1;
    Buffer<double> edge;

    Edges(const double* edges, i64 n) {
        while (size <= n) size *= 2;
        edge.resize(size);
        for (i64 i = 0; i < size; ++i)
            edge[i] = i < n ? edges[i] : std::numeric_limits<double>::infinity();
    }
};

// entry[i] = 1 + the number of edges ≤ x[i], one column; a missing value (NaN) has entry 0. Returns
// the fault of its values: infinity is one. Edges ascend.
template <class M>
int bin_entries(const M& x, const Edges& edges, i32* entry, int threads) {
    constexpr i64 ROWS = 1 << 14, TOGETHER = 64;
    const double* edge = edges.edge.get();
    const i64 tasks = (x.n + ROWS - 1) / ROWS;
    std::atomic<int> fault{FINE};
    run_tasks(tasks, threads_for(x.n * 4, tasks, threads), [&](i64 task, int) {
        const i64 end = (task + 1) * ROWS < x.n ? (task + 1) * ROWS : x.n;
        double value[TOGETHER];
        i64 below[TOGETHER];
        bool infinite = false;
        for (i64 i = task * ROWS; i < end; i += TOGETHER) {
            const i64 rows = end - i < TOGETHER ? end - i : TOGETHER;
            x.read(i, rows, 0, value, 1);
            for (i64 r = 0; r < rows; ++r) below[r] = 0;
            // arithmetic in place of a branch, which nobody could guess; the steps of many rows
            // overlap, as they do not wait for each other
            for (i64 step = edges.size / 2; step; step /= 2)
                for (i64 r = 0; r < rows; ++r)
                    below[r] += step & -static_cast<i64>(edge[below[r] + step - 1] <= value[r]);
            for (i64 r = 0; r < rows; ++r) {
                const bool number = value[r] == value[r];
                infinite |= number && !is_finite(value[r]);
                entry[i + r] = number ? static_cast<i32>(1 + below[r]) : 0;
            }
        }
        if (infinite) fault |= NOT_FINITE;
    });
    return fault;
}

}  // namespace tb
