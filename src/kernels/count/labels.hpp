// Labels to class codes, and weights per class.
#pragma once
#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

constexpr i64 LABEL_CHUNK = 1 << 16;

constexpr i64 RANK_CHUNK = 1 << 14;
constexpr i64 NEAR_LABELS = 256;  // values around the first label that are tried before all are read

// A label as an unsigned number, in the same order, and back.
template <class T>
constexpr u64 SIGN = std::is_signed_v<T> ? u64(1) << 63 : 0;
template <class T>
inline u64 key_of(T v) {
    return static_cast<u64>(v) ^ SIGN<T>;
}

// Which of `size` labels from `low` on there are, a table for each thread.
struct SeenLabels {
    u64 low = 0;
    i64 size = 0;
    std::vector<Buffer<std::uint8_t>> tables;
    bool at(i64 i) const {
        for (auto& table : tables)
            if (table.get() && table[i]) return true;
        return false;
    }
};

// Runs each(i, v) for the labels of a chunk.
template <class T, class Each>
inline void each_label(const TypedMatrix<T>& y, i64 chunk, Each&& each) {
    const i64 begin = chunk * RANK_CHUNK, end = begin + RANK_CHUNK < y.n ? begin + RANK_CHUNK : y.n;
    const T* p = y.at(begin, 0);
    if (y.row == 1)
        for (i64 i = begin; i < end; ++i) each(i, p[i - begin]);
    else
        for (i64 i = begin; i < end; ++i, p += y.row) each(i, *p);
}

// Looks which labels there are; false if one lies outside.
template <class T>
bool see_labels(const TypedMatrix<T>& y, SeenLabels& seen, i64 chunks, int threads) {
    std::vector<Buffer<std::uint8_t>> tables(threads);
    std::atomic<bool> outside{false};
    run_tasks(chunks, threads, [&](i64 chunk, int thread) {
        auto& mine = tables[thread];
        if (!mine.get()) {
            mine.resize(seen.size);
            std::fill_n(mine.get(), seen.size, std::uint8_t(0));
        }
        bool far = false;
        each_label(y, chunk, [&far, table = mine.get(), low = seen.low, last = static_cast<u64>(seen.size - 1)](i64, T v) {
            const u64 at = key_of(v) - low;
            far |= at > last;
            table[at > last ? last : at] = 1;
        });
        if (far) outside = true;
    });
    seen.tables = std::move(tables);
    return !outside;
}

// The smallest and the largest label, as keys.
template <class T>
std::pair<u64, u64> range_of_labels(const TypedMatrix<T>& y, i64 chunks, int threads) {
    std::vector<std::pair<T, T>> ends(static_cast<std::size_t>(chunks));
    run_tasks(chunks, threads, [&](i64 chunk, int) {
        T low = *y.at(chunk * RANK_CHUNK, 0), high = low;
        each_label(y, chunk, [&](i64, T v) {
            low = v < low ? v : low;
            high = v > high ? v : high;
        });
        ends[static_cast<std::size_t>(chunk)] = {low, high};
    });
    auto all = ends[0];
    for (auto& end : ends)
        all = {std::min(all.first, end.first), std::max(all.second, end.second)};
    return {key_of(all.first), key_of(all.second)};
}

// The distinct values of whole-number labels and each label's rank among them, by a table over
// their range. Returns false, doing nothing, where the range is wider than `limit`.
template <class T>
bool rank_labels(const TypedMatrix<T>& y, i64 limit, std::vector<i64>& values, i32* codes,
                 int threads) {
    const i64 n = y.n, chunks = (n + RANK_CHUNK - 1) / RANK_CHUNK;
    if (n == 0) return false;
    threads = threads_for(2 * n, chunks, threads);
    SeenLabels seen;
    const u64 first = key_of(*y.at(0, 0)), half = NEAR_LABELS / 2;
    seen.low = first > half ? first - half : 0, seen.size = NEAR_LABELS;
    if (!see_labels(y, seen, chunks, threads)) {
        const auto [low, high] = range_of_labels(y, chunks, threads);
        if (high - low >= static_cast<u64>(limit)) return false;
        seen.low = low, seen.size = static_cast<i64>(high - low) + 1;
        see_labels(y, seen, chunks, threads);
    }
    Buffer<i32> rank(seen.size);
    for (i64 i = 0; i < seen.size; ++i) {
        rank[i] = static_cast<i32>(values.size());
        if (seen.at(i)) values.push_back(static_cast<i64>((seen.low + static_cast<u64>(i)) ^ SIGN<T>));
    }
    if (static_cast<u64>(values.back()) - static_cast<u64>(values.front()) >= static_cast<u64>(limit)) {
        values.clear();
        return false;
    }
    run_tasks(chunks, threads, [&](i64 chunk, int) {
        each_label(y, chunk, [codes, ranks = rank.get(), low = seen.low](i64 i, T v) {
            codes[i] = ranks[key_of(v) - low];
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
