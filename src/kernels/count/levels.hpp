// Counting and looking up integer codes: column j has the levels 0 … n_levels[j]−1.
#pragma once
#include <atomic>
#include <functional>
#include <vector>

#include "count/dense.hpp"

namespace tb {

constexpr i64 HUGE_CODE = i64(1) << 62;  // stands for every code too large for a table

// A code as an integer; what is not a whole number, or negative, is a fault and reads as 0.
template <class T>
inline i64 code_of(T value, int& fault) {
    if constexpr (std::is_floating_point_v<T>) {
        if (!(value >= T(0) && value < T(9007199254740992.0))) {
            if (!is_finite(static_cast<double>(value)))
                fault |= NOT_FINITE;
            else if (value < T(0))
                fault |= NEGATIVE;
            else
                return HUGE_CODE;
            return 0;
        }
        const i64 code = static_cast<i64>(value);
        if (static_cast<T>(code) != value) fault |= NOT_INTEGER;
        return code;
    } else if constexpr (std::is_signed_v<T>) {
        if (value < 0) {
            fault |= NEGATIVE;
            return 0;
        }
        return static_cast<i64>(value);
    } else {
        const u64 code = static_cast<u64>(value);
        return code >> 62 ? HUGE_CODE : static_cast<i64>(code);
    }
}

// Raises top[j] to the codes of some rows, whose columns lie side by side; false where one is negative
// or too large for a table, so that each has to be looked at.
template <class T>
bool raise_to_rows(const TypedMatrix<T>& x, i64 r0, i64 r1, i64* __restrict__ top) {
    u64 all = 0;  // the bits of all numbers
    for (i64 i = r0; i < r1; ++i) {
        const T* row = x.at(i, 0);
        for (i64 j = 0; j < x.d; ++j) {
            const i64 code = static_cast<i64>(row[j]);
            all |= static_cast<u64>(code);
            top[j] = code > top[j] ? code : top[j];
        }
    }
    return !(all >> 62);
}

// highest[j] = the largest code of column j (−1 without rows).
template <class T>
int highest_codes(const TypedMatrix<T>& x, i64* highest, int threads) {
    struct alignas(APART) Local {
        Buffer<i64> highest;
        int fault = FINE;
    };
    const i64 chunks = (x.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    threads = threads_for(x.n * x.d, chunks, threads);
    std::vector<Local> locals(threads);
    for (auto& local : locals) {
        local.highest.resize(x.d);
        for (i64 j = 0; j < x.d; ++j) local.highest[j] = -1;
    }
    const bool by_column = x.row == 1 && x.column != 1;
    run_tasks(chunks, threads, [&](i64 chunk, int thread) {
        Local& local = locals[thread];
        const i64 r0 = chunk * CHUNK_ROWS;
        const i64 r1 = r0 + CHUNK_ROWS < x.n ? r0 + CHUNK_ROWS : x.n;
        int fault = FINE;
        i64* TOP = local.highest.get();
        auto see = [&](i64 i, i64 j) {
            const i64 code = code_of(*x.at(i, j), fault);
            if (code > TOP[j]) TOP[j] = code;
        };
        if constexpr (std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) < sizeof(i64)))
            if (x.column == 1 && raise_to_rows(x, r0, r1, TOP)) return;
        if (by_column)
            for (i64 j = 0; j < x.d; ++j)
                for (i64 i = r0; i < r1; ++i) see(i, j);
        else
            for (i64 i = r0; i < r1; ++i)
                for (i64 j = 0; j < x.d; ++j) see(i, j);
        local.fault |= fault;
    });
    int fault = FINE;
    for (i64 j = 0; j < x.d; ++j) highest[j] = -1;
    for (auto& local : locals) {
        fault |= local.fault;
        for (i64 j = 0; j < x.d; ++j)
            if (local.highest[j] > highest[j]) highest[j] = local.highest[j];
    }
    return fault;
}

template <class T>
i64 code_at(const TypedMatrix<T>& x, i64 i, i64 j, int& fault) {
    return code_of(*x.at(i, j), fault);
}

struct CodeColumns {  // columns of codes that lie apart; −1, a missing value, reads as 0, 0 as 1 …
    const i32* const* columns;
    i64 n, d;
};
inline i64 code_at(const CodeColumns& x, i64 i, i64 j, int& fault) {
    const i64 code = static_cast<i64>(x.columns[j][i]) + 1;
    if (code < 0) fault |= NEGATIVE;
    return code < 0 ? 0 : code;
}

// Adds the levels of rows r0 … r1−1 to a table (classes, cells), and returns their fault.
template <class M, class Cell, class Weight>
int add_levels(const M& x, const i32* codes, i64 classes, const i64* start, Cell* table, i64 r0,
               i64 r1, Weight&& weight) {
    const i64 d = x.d, cells = start[d];
    const M rows = x;  // a copy stays in registers
    int fault = FINE;
    for (i64 i = r0; i < r1; ++i) {
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        Cell* row = table + codes[i] * cells;
        const auto w = weight(i);
        for (i64 j = 0; j < d; ++j) {
            const i64 code = code_at(rows, i, j, fault);
            if (code >= start[j + 1] - start[j])
                fault |= OUT_OF_RANGE;
            else
                row[start[j] + code] += w;
        }
    }
    return fault;
}

// How rows r0 … r1−1 enter a table, of weight 1 or of their own: compiled for every type of codes.
struct LevelRows {
    std::function<int(std::uint32_t* table, i64 r0, i64 r1)> whole;
    std::function<int(double* table, i64 r0, i64 r1)> weighted;
};

// Adds the level counts of every class of n rows and d columns: counts (classes, cells).
inline int count_level_rows(i64 n, i64 d, const LevelRows& rows_of, bool weighted, i64 classes,
                            i64 cells, double* counts, int threads) {
    // whole numbers are exact in any order: each thread keeps one table; weights are summed by
    // chunks that the shape decides and merged in order
    i64 rows = weighted ? classes * cells / (d ? d : 1) : CHUNK_ROWS;
    if (rows < CHUNK_ROWS) rows = CHUNK_ROWS;
    if (!weighted && rows > (i64(1) << 30)) rows = i64(1) << 30;
    const i64 chunks = (n + rows - 1) / rows;
    struct alignas(APART) Local {
        Buffer<std::uint32_t> whole;
        Buffer<double> weighted;
        i64 rows = 0;
        int fault = FINE;
    };
    threads = threads_for(n * d, chunks, threads);
    // a table per thread must not cost more than the counting itself
    while (threads > 1 && classes * cells > n * d * 4) --threads;
    std::vector<Local> locals(threads);
    const i64 size = classes * cells;
    auto clear = [&](Local& local) {
        for (i64 i = 0; i < size; ++i) local.whole[i] = 0;
    };
    auto flush = [&](Local& local) {
        for (i64 i = 0; i < size; ++i) counts[i] += static_cast<double>(local.whole[i]);
        clear(local);
        local.rows = 0;
    };
    for (auto& local : locals) {
        if (weighted) {
            local.weighted.resize(size);
        } else {
            local.whole.resize(size);
            clear(local);
        }
    }
    int fault = FINE;
    run_in_order(
        chunks, threads,
        [&](i64 chunk, int thread) {
            Local& local = locals[thread];
            const i64 r0 = chunk * rows, r1 = r0 + rows < n ? r0 + rows : n;
            if (weighted) {
                for (i64 i = 0; i < size; ++i) local.weighted[i] = 0.0;
                local.fault |= rows_of.weighted(local.weighted.get(), r0, r1);
            } else {
                local.fault |= rows_of.whole(local.whole.get(), r0, r1);
                local.rows += r1 - r0;
            }
        },
        [&](i64, int thread) {
            Local& local = locals[thread];
            fault |= local.fault;
            if (weighted && !fault)
                for (i64 i = 0; i < size; ++i) counts[i] += local.weighted[i];
            else if (!weighted && local.rows > (i64(1) << 31))
                flush(local);
        });
    if (!weighted && !fault)
        for (auto& local : locals) flush(local);
    return fault;
}

// The level counts of codes, column j at start[j]. A code at or beyond its column's end is
// OUT_OF_RANGE, so one may guess the number of levels and count at once.
template <class M>
int count_levels(const M& x, const i32* codes, const double* weights, i64 classes,
                 const i64* start, double* counts, int threads) {
    const LevelRows rows{
        [&](std::uint32_t* table, i64 r0, i64 r1) {
            return add_levels(x, codes, classes, start, table, r0, r1, [](i64) { return 1u; });
        },
        [&](double* table, i64 r0, i64 r1) {
            return add_levels(x, codes, classes, start, table, r0, r1,
                              [weights](i64 i) { return weights[i]; });
        }};
    return count_level_rows(x.n, x.d, rows, weights != nullptr, classes, start[x.d], counts, threads);
}

// entry[i·d + j] = start[j] + code, or the last entry of the column (its unseen level) for a code
// that the table does not know. Columns of the table have n_levels + 1 entries.
template <class T>
int table_entries(const TypedMatrix<T>& x, i64 r0, i64 r1, const i64* start, i32* entry,
                  bool& unseen) {
    int fault = FINE;
    bool beyond = false;
    for (i64 i = r0; i < r1; ++i)
        for (i64 j = 0; j < x.d; ++j) {
            const i64 code = code_of(*x.at(i, j), fault);
            const i64 last = start[j + 1] - start[j] - 1;
            beyond |= code >= last;
            *entry++ = static_cast<i32>(start[j] + (code < last ? code : last));
        }
    unseen |= beyond;
    return fault;
}

}  // namespace tb
