// Counting the rows of a dense matrix: moments and sums.
//
// Work is cut into (column block, row chunk) tasks of a size that the shape alone decides; each
// class of a chunk is summed by itself and chunks are merged in order. float64 and float32 rows are
// read where they lie; other types and strides are copied by small tiles first. The result depends
// neither on the number of threads nor on the memory layout.
#pragma once
#include <algorithm>
#include <atomic>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "count/slots.hpp"

namespace tb {

constexpr i64 CHUNK_ROWS = 8192;
constexpr i64 BLOCK_COLUMNS = 256;
constexpr i64 PACK_ROWS = 64;
constexpr i64 NEAR_CELLS = 1 << 14;  // of a tile that is read twice, from a cache that is near

struct Totals {  // running sums of one column, as double-doubles, row-major (classes, d)
    double *s1_hi, *s1_lo, *s2_hi, *s2_lo;
};

struct Part {  // of a matrix: n rows from r0 on, d columns from c0 on
    i64 r0, n, c0, d;
};

// Counts the parts of x, each by count(part, local), and adds what it found by add(part, local), in their
// order. Returns their faults; nothing of a part is added from the first faulty one on.
template <class Local, class M, class Count, class Add>
int count_parts(const M& x, int threads, const Count& count, const Add& add) {
    const i64 chunks = (x.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    const i64 tasks = chunks * ((x.d + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS);
    threads = threads_for(x.n * x.d, tasks, threads);
    std::vector<Local> locals(threads);
    int fault = FINE;
    std::atomic<bool> failed{false};
    const auto part = [&](i64 task) {
        const i64 r0 = task % chunks * CHUNK_ROWS, c0 = task / chunks * BLOCK_COLUMNS;
        return Part{r0, std::min(x.n - r0, CHUNK_ROWS), c0, std::min(x.d - c0, BLOCK_COLUMNS)};
    };
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            locals[thread].fault = FINE;
            if (!failed.load(std::memory_order_relaxed)) count(part(task), locals[thread]);
        },
        [&](i64 task, int thread) {
            Local& local = locals[thread];
            if (local.fault) failed = true, fault |= local.fault;
            if (!fault) add(part(task), local);
        });
    return fault;
}

struct ColumnList {  // columns that lie apart, as a matrix
    const double* const* columns;
    i64 n, d;
    double number(i64 i, i64 j) const { return columns[j][i]; }
    void read(i64 i, i64 rows, i64 j, double* to, i64 step) const {
        const double* from = columns[j] + i;
        for (i64 r = 0; r < rows; ++r, to += step) *to = from[r];
    }
};

// Calls rows(pointer, stride, first row, number of rows) for `tile` rows of a rectangle of x at
// a time, where they lie if their cells are adjacent floats, else copied as float64.
template <class M, class Rows>
void each_row_tile(const M& x, i64 r0, i64 n, i64 c0, i64 d, i64 tile, Buffer<double>& pack,
                   Rows&& call) {
    if constexpr (holds_floats<M>) {
        if (x.column == 1 || d == 1) {
            for (i64 i = 0; i < n; i += tile)
                call(x.at(r0 + i, c0), x.row, i, n - i < tile ? n - i : tile);
            return;
        }
    }
    pack.resize(tile * d);
    for (i64 i = 0; i < n; i += tile) {
        const i64 rows = n - i < tile ? n - i : tile;
        for (i64 first = 0; first < rows; first += PACK_ROWS) {  // what is written stays near
            const i64 some = rows - first < PACK_ROWS ? rows - first : PACK_ROWS;
            for (i64 j = 0; j < d; ++j)
                x.read(r0 + i + first, some, c0 + j, pack.get() + first * d + j, d);
        }
        call(static_cast<const double*>(pack.get()), d, i, rows);
    }
}

inline bool all_finite(const double* a, i64 n) {
    double total = 0.0;  // x·0 is NaN for every NaN and infinity
    for (i64 i = 0; i < n; ++i) total += a[i] * 0.0;
    return total == 0.0;
}

template <class M>
int row_fault(const M& x, i64 i, i64 c0, i64 d, Demand demand) {
    int fault = FINE;
    for (i64 j = 0; j < d; ++j) fault |= fault_of(x.number(i, c0 + j), demand);
    return fault;
}

// Rows of a tile: as many as stay near, unless of a class that would be a few only.
inline i64 tile_rows(i64 d, i64 classes) {
    const i64 near = NEAR_CELLS / d, enough = 32 * classes, most = 16 * near;
    const i64 rows = near > enough ? near : enough < most ? enough : most;
    return rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

// Adds the moments of the rows of x, taken about `origin` (d,), to `totals` (classes, d).
// Nothing is added to the totals of a column block from the first faulty chunk on; the caller
// throws the totals away. With one chunk and one block nothing at all is added.
template <class M>
int count_moments(const Loops& loops, const M& x, const i32* codes,
                  const double* weights, i64 classes, const double* origin, Totals totals,
                  int threads) {
    struct alignas(APART) Local {
        Slots slots;
        Buffer<double> cells, weight, rest, pack;  // cells: of each class, as of moments_rows
        Buffer<unsigned char> shifted;             // whether a shift of a class is not 0
        Buffer<i64> next;                          // the first of a class's rows not yet added
        int fault = FINE;
    };
    return count_parts<Local>(
        x, threads,
        [&](const Part& part, Local& local) {
            const i64 r0 = part.r0, n = part.n, c0 = part.c0, d = part.d;
            const double* w = weights ? weights + r0 : nullptr;
            local.slots.number(codes + r0, w, n, classes);
            const i64 used = local.slots.used;
            const i64 pad = (d + 7) / 8 * 8;
            local.cells.resize(used * 6 * pad);
            local.weight.resize(used), local.rest.resize(used), local.next.resize(used);
            local.shifted.resize(used);
            i32* rows = local.slots.by_class(w, n);
            for (i64 s = 0; s < used; ++s) {
                double* shift = local.cells.get() + s * 6 * pad;
                local.shifted[s] = 0;
                for (i64 j = 0; j < d; ++j) {
                    shift[j] =
                        local.slots.shift(s, [&](i64 row) { return x.number(r0 + row, c0 + j); });
                    local.shifted[s] |= shift[j] != 0.0;
                }
                for (i64 j = pad; j < 6 * pad; ++j) shift[j] = 0.0;
                local.weight[s] = w ? 0.0 : static_cast<double>(local.slots.rows(s));
                local.rest[s] = 0.0;
                local.next[s] = s ? local.slots.end(s - 1) : 0;
            }
            const i32* slot = local.slots.slot();
            bool negative = false;
            for (i64 i = 0; w && i < n; ++i) {
                negative |= w[i] < 0.0;
                if (w[i] == 0.0)
                    local.fault |= row_fault(x, r0 + i, c0, d, Demand::finite);
                else
                    add_exactly(local.weight[slot[i]], local.rest[slot[i]], w[i]);
            }
            const i64 tile = tile_rows(d, used);
            auto add_tile = [&](auto* from, i64 stride, i64 i, i64 count) {
                using E = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
                const auto run = loops.of<E>().moments[w != nullptr];
                auto* next = from + tile * stride;  // of the rows below, as many as were added
                for (i64 s = 0; s < used; ++s) {
                    i32 *begin = rows + local.next[s], *end = begin;
                    const i32* last = rows + local.slots.end(s);
                    for (; end < last && *end < i + count; ++end) *end -= static_cast<i32>(i);
                    i32* middle = end;
                    if (negative)
                        middle = std::stable_partition(begin, end,
                                                       [&](i32 r) { return w[i + r] > 0.0; });
                    for (i32* stop : {middle, end})
                        while (begin < stop) {
                            const i64 some = stop - begin < RUN ? stop - begin : RUN;
                            const bool first = begin == rows + (s ? local.slots.end(s - 1) : 0);
                            run(from, stride, begin, some, next, first, d, pad, local.shifted[s],
                                w ? w + i : nullptr, local.cells.get() + s * 6 * pad);
                            begin += some, next += some * stride;
                        }
                    local.next[s] = end - rows;
                }
            };
            each_row_tile(x, r0, n, c0, d, tile, local.pack, add_tile);
            for (i64 s = 0; s < used; ++s) {
                const double* shift = local.cells.get() + s * 6 * pad;
                for (i64 part = 1; part < 5; ++part)
                    if (!all_finite(shift + part * pad, d)) local.fault |= NOT_FINITE;
                for (i64 j = 0; j < d; ++j) {  // and what it becomes about the origin
                    const double delta = shift[j] - origin[c0 + j];
                    if (!(delta * delta * local.weight[s] + shift[3 * pad + j] < 1e307))
                        local.fault |= NOT_FINITE;
                }
            }
        },
        [&](const Part& part, const Local& local) {
            const i64 c0 = part.c0, d = part.d;
            const i64 pad = (d + 7) / 8 * 8;
            for (i64 s = 0; s < local.slots.used; ++s) {
                const i64 at = local.slots.class_of(s) * x.d + c0;
                loops.moments_into(d, local.weight[s], local.rest[s],
                                   local.cells.get() + s * 6 * pad, pad, origin + c0,
                                   totals.s1_hi + at, totals.s1_lo + at, totals.s2_hi + at,
                                   totals.s2_lo + at);
            }
        });
}

// Adds Σ w·x (or Σ w·[x > threshold]) of each class to sums (classes, d).
template <class M>
int count_sums(const Loops& loops, const M& x, const i32* codes,
               const double* weights, i64 classes, const double* threshold, Demand demand,
               double* sums, int threads) {
    struct alignas(APART) Local {
        Slots slots;
        Buffer<double> sums, pack, binary;
        int fault = FINE;
    };
    return count_parts<Local>(
        x, threads,
        [&](const Part& part, Local& local) {
            const i64 r0 = part.r0, n = part.n, c0 = part.c0, d = part.d;
            const double* w = weights ? weights + r0 : nullptr;
            local.slots.number(codes + r0, nullptr, n, classes);
            local.sums.resize(local.slots.used * d);
            for (i64 i = 0; i < local.slots.used * d; ++i) local.sums[i] = 0.0;
            const i32* slot = local.slots.slot();
            auto rows = [&](auto* from, i64 stride, i64 i, i64 count) {
                using E = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
                const double* wi = w ? w + i : nullptr;
                for (i64 r = 0; r < count; ++r) {
                    const E* row = from + r * stride;
                    const int seen = loops.of<E>().check(row, d);
                    if (seen & 1) local.fault |= NOT_FINITE;
                    if (seen & 2 && demand == Demand::non_negative) local.fault |= NEGATIVE;
                }
                if (threshold) {
                    local.binary.resize(count * d);
                    const double above = *threshold;
                    double* to = local.binary.get();
                    for (i64 r = 0; r < count; ++r, to += d)
                        for (i64 j = 0; j < d; ++j)
                            to[j] = static_cast<double>(from[r * stride + j]) > above ? 1.0 : 0.0;
                    loops.f64.sums[w != nullptr](local.binary.get(), d, count, d, slot + i, wi,
                                                 local.sums.get());
                    return;
                }
                loops.of<E>().sums[w != nullptr](from, stride, count, d, slot + i, wi,
                                                 local.sums.get());
            };
            each_row_tile(x, r0, n, c0, d, PACK_ROWS, local.pack, rows);
        },
        [&](const Part& part, const Local& local) {
            const i64 c0 = part.c0, d = part.d;
            for (i64 s = 0; s < local.slots.used; ++s) {
                double* to = sums + local.slots.class_of(s) * x.d + c0;
                const double* from = local.sums.get() + s * d;
                for (i64 j = 0; j < d; ++j) to[j] += from[j];
            }
        });
}

}  // namespace tb
