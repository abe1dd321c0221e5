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
        const i64 begin = chunk * LABEL_CHUNK;
        const i64 end = begin + LABEL_CHUNK < n ? begin + LABEL_CHUNK : n;
        const T* p = y.at(begin, 0);
        if (y.row == 1)
            for (i64 i = begin; i < end; ++i) f(i, p[i - begin]);
        else
            for (i64 i = begin; i < end; ++i, p += y.row) f(i, *p);
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
        each(chunk, [table, first = static_cast<u64>(low)](i64, T v) {
            table[static_cast<u64>(v) - first] = 1;
        });
    });
    Buffer<i32> rank(size);
    for (i64 i = 0; i < size; ++i) {
        bool here = false;
        for (auto& local : locals) here |= local.seen.get() && local.seen[i];
        rank[i] = static_cast<i32>(values.size());
        if (here) values.push_back(static_cast<i64>(static_cast<u64>(low) + static_cast<u64>(i)));
    }
    run_tasks(chunks, threads, [&](i64 chunk, int) {
        each(chunk, [codes, ranks = rank.get(), first = static_cast<u64>(low)](i64 i, T v) {
            codes[i] = ranks[static_cast<u64>(v) - first];
        });
    });
    return true;
}

// Few classes are counted in several tables by turns: of one class, each row would wait for the one
// before. Returns how many tables.
inline i64 tables_for(i64 classes) { return classes <= LABEL_CHUNK / 16 ? 4 : 1; }

// Adds the rows of each class to `rows`, the first of so many tables (tables, classes).
inline void count_rows(const i32* codes, i64 n, i64 classes, double* rows) {
    const auto add = [&](i64 i, i64 table) {
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        rows[table * classes + codes[i]] += 1.0;
    };
    i64 i = 0;
    if (tables_for(classes) == 4) {
        for (; i + 4 <= n; i += 4) add(i, 0), add(i + 1, 1), add(i + 2, 2), add(i + 3, 3);
        for (i64 k = 0; k < classes; ++k)
            rows[k] += rows[classes + k] + rows[2 * classes + k] + rows[3 * classes + k];
    }
    for (; i < n; ++i) add(i, 0);
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
            const i64 size = (weights ? 2 : 1 + tables_for(classes)) * classes;
            local.resize(size);
            for (i64 k = 0; k < size; ++k) local[k] = 0.0;
            const i64 begin = chunk * rows, end = begin + rows < n ? begin + rows : n;
            if (!weights) {
                count_rows(codes + begin, end - begin, classes, local.get());
                for (i64 k = classes; k < 2 * classes; ++k) local[k] = 0.0;  // no rounding errors
                return;
            }
            for (i64 i = begin; i < end; ++i) {
                if (codes[i] < 0 || codes[i] >= classes)
                    throw std::out_of_range("a class code is out of range");
                if (rest)
                    add_exactly(local[codes[i]], local[classes + codes[i]], weights[i]);
                else
                    local[codes[i]] += weights[i];
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
