// Labels to class codes, and weights per class.
#pragma once
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

constexpr i64 LABEL_CHUNK = 1 << 16;

// The distinct values of whole-number labels and each label's rank among them, by a table over
// their range. Returns false, doing nothing, where the range is wider than `limit`.
template <class T>
bool rank_labels(const TypedMatrix<T>& y, i64 limit, std::vector<i64>& values, i32* codes,
                 int threads) {
    const i64 n = y.n, chunks = (n + LABEL_CHUNK - 1) / LABEL_CHUNK;
    threads = threads_for(n, chunks, threads);
    struct Local {
        T low, high;
        bool any = false;
        Buffer<std::uint8_t> seen;
    };
    std::vector<Local> locals(threads);
    auto each = [&](i64 chunk, auto&& f) {
        const i64 end = (chunk + 1) * LABEL_CHUNK < n ? (chunk + 1) * LABEL_CHUNK : n;
        const T* p = y.at(chunk * LABEL_CHUNK, 0);
        for (i64 i = chunk * LABEL_CHUNK; i < end; ++i, p += y.row) f(i, *p);
    };
    run_tasks(chunks, threads, [&](i64 chunk, int thread) {
        T low = *y.at(chunk * LABEL_CHUNK, 0), high = low;
        each(chunk, [&](i64, T v) {
            low = v < low ? v : low;
            high = v > high ? v : high;
        });
        Local& local = locals[thread];
        if (!local.any || low < local.low) local.low = low;
        if (!local.any || high > local.high) local.high = high;
        local.any = true;
    });
    T low{}, high{};
    bool any = false;
    for (auto& local : locals)
        if (local.any) {
            low = !any || local.low < low ? local.low : low;
            high = !any || local.high > high ? local.high : high;
            any = true;
        }
    const u64 range = static_cast<u64>(high) - static_cast<u64>(low);
    if (!any || range >= static_cast<u64>(limit)) return false;
    const i64 size = static_cast<i64>(range) + 1;
    run_tasks(chunks, threads, [&](i64 chunk, int thread) {
        auto& seen = locals[thread].seen;
        if (!seen.get()) {
            seen.resize(size);
            for (i64 i = 0; i < size; ++i) seen[i] = 0;
        }
        std::uint8_t* table = seen.get();
        each(chunk, [&](i64, T v) { table[static_cast<u64>(v) - static_cast<u64>(low)] = 1; });
    });
    Buffer<i32> rank(size);
    for (i64 i = 0; i < size; ++i) {
        bool here = false;
        for (auto& local : locals) here |= local.seen.get() && local.seen[i];
        rank[i] = static_cast<i32>(values.size());
        if (here) values.push_back(static_cast<i64>(static_cast<u64>(low) + static_cast<u64>(i)));
    }
    run_tasks(chunks, threads, [&](i64 chunk, int) {
        each(chunk,
             [&](i64 i, T v) { codes[i] = rank[static_cast<u64>(v) - static_cast<u64>(low)]; });
    });
    return true;
}

// Adds the rows, or their weights, of each class to count + rest. Chunks are merged in order; the
// rounding errors of the sums go to `rest` (classes,) where it is given.
inline void count_classes(const i32* codes, const double* weights, i64 n, i64 classes,
                          double* count, double* rest, int threads) {
    i64 rows = LABEL_CHUNK > classes ? LABEL_CHUNK : classes;
    const i64 chunks = (n + rows - 1) / rows;
    threads = threads_for(n, chunks, threads);
    std::vector<Buffer<double>> locals(threads);
    run_in_order(
        chunks, threads,
        [&](i64 chunk, int thread) {
            auto& local = locals[thread];
            local.resize(2 * classes);
            for (i64 k = 0; k < 2 * classes; ++k) local[k] = 0.0;
            const i64 end = (chunk + 1) * rows < n ? (chunk + 1) * rows : n;
            for (i64 i = chunk * rows; i < end; ++i) {
                if (codes[i] < 0 || codes[i] >= classes)
                    throw std::out_of_range("a class code is out of range");
                if (weights && rest)
                    add_exactly(local[codes[i]], local[classes + codes[i]], weights[i]);
                else
                    local[codes[i]] += weights ? weights[i] : 1.0;
            }
        },
        [&](i64, int thread) {
            const auto& local = locals[thread];
            for (i64 k = 0; k < classes; ++k)
                if (rest)
                    add_exactly(count[k], rest[k], local[k]), rest[k] += local[classes + k];
                else
                    count[k] += local[k];
        });
}

}  // namespace tb
