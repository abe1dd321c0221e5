// Counting the rows of a sparse matrix: sums and moments.
//
// No thread shares a cell with another. CSR rows are grouped by class, so that each class is summed
// into one vector that stays in the cache; of several classes, each thread has some, and takes their
// rows in order. CSC columns are summed one by one.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

constexpr i64 SEGMENT_ROWS = 16384;
constexpr i64 TILE_ROWS = 1024;  // whose entries stay in the cache
constexpr i64 ROWS_AHEAD = 2, SHORT_ROWS_AHEAD = 4;  // whose cells are asked for before they are added to
constexpr i64 SHORT_ROW = 64;     // entries, on average
constexpr i64 ENTRIES_AHEAD = 8;  // rows whose entries are asked for before their cells
constexpr i64 TILED_CLASSES = 8, MOST_TILED_CLASSES = 128;

template <class T, class I>
struct Compressed {  // major = rows for CSR, columns for CSC
    const I* indptr;
    const I* indices;
    const T* data;
    i64 major, minor;
};

struct Rule {  // what is done to a value before it is summed
    const double* threshold;  // Σ w·[x > threshold] where given
    Demand demand;
};

// How one value enters the cells of a class (or of a column).
struct SumCells {
    static constexpr int parts = 1;  // arrays of cells
    static void add(double* const* cell, i64 at, double x, double w) { cell[0][at] += w * x; }
    static void merge(double* const* to, double* const* from, i64 n) {
        for (i64 j = 0; j < n; ++j) to[0][j] += from[0][j];
    }
};

// Σ w·x and Σ w·x² about zero as double-doubles: cells hi and lo of each.
struct MomentCells {
    static constexpr int parts = 4;
    static double product_error(double a, double b, double p) { return std::fma(a, b, -p); }
    static void add(double* const* c, i64 at, double x, double w) {
        const double u = w * x, ue = product_error(w, x, u);
        add_exactly(c[0][at], c[1][at], u);
        c[1][at] += ue;
        const double q = u * x, qe = product_error(u, x, q) + ue * x;
        add_exactly(c[2][at], c[3][at], q);
        c[3][at] += qe;
    }
    static void merge(double* const* to, double* const* from, i64 n) {
        for (i64 j = 0; j < n; ++j)
            for (int p = 0; p < 4; p += 2) {
                add_exactly(to[p][j], to[p + 1][j], from[p][j]);
                to[p + 1][j] += from[p + 1][j];
            }
    }
};

template <class Cells, class T>
inline int add_value(double* const* cell, i64 at, T value, double w, const Rule& rule) {
    double x = static_cast<double>(value);
    const int fault = fault_of(x, rule.demand);
    if (rule.threshold) {
        if (!(x > *rule.threshold)) return fault;
        x = 1.0;
    }
    Cells::add(cell, at, x, w);
    return fault;
}

// Whether some value may be at fault: by its sign or, of floats, an exponent of ones alone. Bits are
// only added and joined, so that many values are looked at together.
template <class T>
inline bool suspicious(const T* values, i64 n, Demand demand) {
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = std::conditional_t<sizeof(T) == 8, u64, std::uint32_t>;
        constexpr Bits SIGN = Bits(1) << (8 * sizeof(T) - 1);
        constexpr Bits UNIT = Bits(1) << (std::numeric_limits<T>::digits - 1);  // of the exponent
        const Bits keep = demand == Demand::non_negative ? ~Bits(0) : static_cast<Bits>(~SIGN);
        Bits any = 0;
        for (i64 p = 0; p < n; ++p) {
            Bits bits;
            std::memcpy(&bits, values + p, sizeof bits);
            bits &= keep;
            any |= bits | (bits + UNIT);
        }
        return any & SIGN;
    } else {
        T any = 0;
        for (i64 p = 0; p < n; ++p) any = static_cast<T>(any | values[p]);
        return any < T(0);
    }
}

template <class T>
int faults_of(const T* values, i64 n, Demand demand) {
    if (!suspicious(values, n, demand)) return FINE;
    int bad = FINE;
    for (i64 p = 0; p < n; ++p) bad |= fault_of(static_cast<double>(values[p]), demand);
    return bad;
}

template <class I>
inline bool all_within(const I* index, i64 n, i64 d) {
    using Unsigned = std::make_unsigned_t<I>;
    const u64 most = static_cast<u64>(std::numeric_limits<I>::max()) + 1;
    const Unsigned limit = static_cast<Unsigned>(std::min(static_cast<u64>(d), most));
    bool out = false;
    for (i64 p = 0; p < n; ++p) out |= static_cast<Unsigned>(index[p]) >= limit;
    return !out;
}

// The entries of a CSR row of checked indices and values, all of weight w, into the cells of its class.
template <class Cells, class T, class I>
void add_entries(double* const* cells, const Compressed<T, I>& x, i64 i, double w, const Rule& rule) {
    const i64 n = static_cast<i64>(x.indptr[i + 1] - x.indptr[i]);
    const I* const index = x.indices + x.indptr[i];
    const T* const values = x.data + x.indptr[i];
    double* cell[Cells::parts];
    for (int part = 0; part < Cells::parts; ++part) cell[part] = cells[part];
    if (rule.threshold) {
        const double threshold = *rule.threshold;
        for (i64 p = 0; p < n; ++p)
            if (static_cast<double>(values[p]) > threshold) Cells::add(cell, index[p], 1.0, w);
    } else {
        for (i64 p = 0; p < n; ++p)
            Cells::add(cell, index[p], static_cast<double>(values[p]), w);
    }
}

// The same of a row that nothing has looked at: its entries are looked at first, many together, so
// that the loop which adds does nothing else.
template <class Cells, class T, class I>
int add_row(double* const* cells, const Compressed<T, I>& x, i64 i, double w, const Rule& rule) {
    const i64 n = static_cast<i64>(x.indptr[i + 1] - x.indptr[i]);
    if (!all_within(x.indices + x.indptr[i], n, x.minor)) return OUT_OF_RANGE;
    add_entries<Cells>(cells, x, i, w, rule);
    return faults_of(x.data + x.indptr[i], n, rule.demand);
}

// Asks for the cells that the entries of a row add to, and tells whether all indices are within the
// matrix. Addresses are only numbers here, whatever the indices. It has to be inlined: GCC takes a
// function that only prefetches for one without effect, and drops calls.
template <int PARTS, class T, class I>
[[gnu::always_inline]] inline bool fetch_cells(const Compressed<T, I>& x, i64 i,
                                               double* const* cells) {
    std::uintptr_t base[PARTS];
    for (int part = 0; part < PARTS; ++part)
        base[part] = reinterpret_cast<std::uintptr_t>(cells[part]);
    const u64 d = static_cast<u64>(x.minor);
    const i64 end = static_cast<i64>(x.indptr[i + 1]);
    bool out = false;
    for (i64 p = static_cast<i64>(x.indptr[i]); p < end; ++p) {
        const u64 j = static_cast<u64>(x.indices[p]);
        out |= j >= d;
        for (int part = 0; part < PARTS; ++part)
            __builtin_prefetch(reinterpret_cast<const void*>(base[part] + j * sizeof(double)), 1);
    }
    return !out;
}

// Asks for the entries of a row: of several threads, each skips the rows of the others, which the
// processor does not foresee.
template <class T, class I>
[[gnu::always_inline]] inline void fetch_entries(const Compressed<T, I>& x, i64 i) {
    constexpr i64 LINE = 64;
    const i64 end = static_cast<i64>(x.indptr[i + 1]);
    for (i64 p = static_cast<i64>(x.indptr[i]); p < end; p += LINE / static_cast<i64>(sizeof(I)))
        __builtin_prefetch(x.indices + p);
    for (i64 p = static_cast<i64>(x.indptr[i]); p < end; p += LINE / static_cast<i64>(sizeof(T)))
        __builtin_prefetch(x.data + p);
}

// CSR of several classes, none of which has most of the entries: each thread has classes of its
// own, and takes their rows in order. Cells of rare terms are far away, so that those of a row are
// asked for while rows before it are added. Of a tile, each thread looks at a share of the values.
template <class Cells, class T, class I>
int count_csr_tiles(const Compressed<T, I>& x, const i32* codes, const double* weights,
                    const std::vector<i64>& entries, const Rule& rule, double* const* out,
                    int threads) {
    const i64 n = x.major, d = x.minor, classes = static_cast<i64>(entries.size());
    i64 all = 0, before = 0;
    for (const i64 e : entries) all += e;
    threads = threads_for(all, classes, threads);
    const i64 cells_ahead = all <= SHORT_ROW * n ? SHORT_ROWS_AHEAD : ROWS_AHEAD;
    std::vector<int> owner(classes);
    for (i64 k = 0; k < classes; before += entries[k++])
        owner[k] = all ? static_cast<int>((before + entries[k] / 2) * threads / all) : 0;
    std::atomic<int> fault{FINE};
    run_tasks(threads, threads, [&](i64 thread, int) {
        std::vector<i64> rows(TILE_ROWS);
        int bad = FINE;
        for (i64 first = 0; first < n && !bad; first += TILE_ROWS) {
            const i64 last = first + TILE_ROWS < n ? first + TILE_ROWS : n;
            const i64 begin = static_cast<i64>(x.indptr[first]);
            const i64 stored = static_cast<i64>(x.indptr[last]) - begin;
            const i64 from = stored * thread / threads, to = stored * (thread + 1) / threads;
            bad |= faults_of(x.data + begin + from, to - from, rule.demand);
            i64 used = 0;
            for (i64 i = first; i < last; ++i) {
                rows[used] = i;
                used += owner[codes[i]] == thread;
            }
            double* cell[Cells::parts];
            const auto cells_of = [&](i64 i) {
                for (int p = 0; p < Cells::parts; ++p) cell[p] = out[p] + codes[i] * d;
            };
            for (i64 r = -cells_ahead; r < used && !bad; ++r) {
                if (const i64 ahead = r + cells_ahead; ahead < used) {
                    cells_of(rows[ahead]);
                    if (!fetch_cells<Cells::parts>(x, rows[ahead], cell)) bad |= OUT_OF_RANGE;
                }
                if (const i64 far = r + cells_ahead + ENTRIES_AHEAD; threads > 1 && far < used)
                    fetch_entries(x, rows[far]);
                if (r < 0 || bad) continue;
                const i64 i = rows[r];
                cells_of(i);
                add_entries<Cells>(cell, x, i, weights ? weights[i] : 1.0, rule);
            }
        }
        if (bad) fault |= bad;
    });
    return fault;
}

// CSR: out[p] is (classes, d). Rows of one class are taken in their order.
template <class Cells, class T, class I>
int count_csr(const Compressed<T, I>& x, const i32* codes, const double* weights, i64 classes,
              const Rule& rule, double* const* out, int threads) {
    const i64 n = x.major, d = x.minor;
    std::vector<i64> begin(static_cast<std::size_t>(classes) + 1, 0);
    std::vector<i64> entries(static_cast<std::size_t>(classes), 0);
    for (i64 i = 0; i < n; ++i) {
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        ++begin[codes[i] + 1];
        entries[codes[i]] += static_cast<i64>(x.indptr[i + 1] - x.indptr[i]);
    }
    if (classes >= TILED_CLASSES && classes <= MOST_TILED_CLASSES &&
        *std::max_element(entries.begin(), entries.end()) <=
            static_cast<i64>(x.indptr[n] - x.indptr[0]) / 4)
        return count_csr_tiles<Cells>(x, codes, weights, entries, rule, out, threads);
    for (i64 k = 0; k < classes; ++k) begin[k + 1] += begin[k];
    Buffer<i64> order(n);
    {
        std::vector<i64> at(begin.begin(), begin.end() - 1);
        for (i64 i = 0; i < n; ++i) order[at[codes[i]]++] = i;
    }
    struct Segment {
        i64 k, from, to;
        bool alone;
    };
    std::vector<Segment> segments;
    for (i64 k = 0; k < classes; ++k)
        for (i64 a = begin[k]; a < begin[k + 1]; a += SEGMENT_ROWS) {
            const i64 b = a + SEGMENT_ROWS < begin[k + 1] ? a + SEGMENT_ROWS : begin[k + 1];
            segments.push_back({k, a, b, begin[k + 1] - begin[k] <= SEGMENT_ROWS});
        }
    struct alignas(APART) Local {
        Buffer<double> cells[Cells::parts];
        int fault = FINE;
    };
    const i64 tasks = static_cast<i64>(segments.size());
    threads = threads_for(n ? static_cast<i64>(x.indptr[n]) - static_cast<i64>(x.indptr[0]) : 0,
                          tasks, threads);
    std::vector<Local> locals(threads);
    int fault = FINE;
    run_in_order(
        tasks, threads,
        [&](i64 t, int thread) {
            const Segment& segment = segments[t];
            Local& local = locals[thread];
            double* cell[Cells::parts];
            for (int p = 0; p < Cells::parts; ++p) {
                if (segment.alone) {
                    cell[p] = out[p] + segment.k * d;
                } else {
                    local.cells[p].resize(d);
                    cell[p] = local.cells[p].get();
                    for (i64 j = 0; j < d; ++j) cell[p][j] = 0.0;
                }
            }
            int bad = FINE;
            for (i64 r = segment.from; r < segment.to; ++r) {
                const i64 i = order[r];
                bad |= add_row<Cells>(cell, x, i, weights ? weights[i] : 1.0, rule);
            }
            local.fault |= bad;
        },
        [&](i64 t, int thread) {
            const Segment& segment = segments[t];
            Local& local = locals[thread];
            fault |= local.fault;
            if (fault || segment.alone) return;
            double *to[Cells::parts], *from[Cells::parts];
            for (int p = 0; p < Cells::parts; ++p)
                to[p] = out[p] + segment.k * d, from[p] = local.cells[p].get();
            Cells::merge(to, from, d);
        });
    return fault;
}

// CSC: the same sums, one column at a time.
template <class Cells, class T, class I>
int count_csc(const Compressed<T, I>& x, const i32* codes, const double* weights, i64 classes,
              const Rule& rule, double* const* out, int threads) {
    const i64 d = x.major, n = x.minor;
    constexpr i64 COLUMNS = 256;
    const i64 tasks = (d + COLUMNS - 1) / COLUMNS;
    struct alignas(APART) Local {
        Buffer<double> cells[Cells::parts];
    };
    threads = threads_for((d ? static_cast<i64>(x.indptr[d]) : 0) + d * classes, tasks, threads);
    std::vector<Local> locals(threads);
    std::atomic<int> fault{FINE};
    run_tasks(tasks, threads, [&](i64 t, int thread) {
        Local& local = locals[thread];
        double* cell[Cells::parts];
        for (int p = 0; p < Cells::parts; ++p) {
            local.cells[p].resize(classes);
            cell[p] = local.cells[p].get();
        }
        int bad = FINE;
        const i64 last = (t + 1) * COLUMNS < d ? (t + 1) * COLUMNS : d;
        for (i64 j = t * COLUMNS; j < last; ++j) {
            for (int p = 0; p < Cells::parts; ++p)
                for (i64 k = 0; k < classes; ++k) cell[p][k] = 0.0;
            const I end = x.indptr[j + 1];
            for (I p = x.indptr[j]; p < end; ++p) {
                const i64 i = static_cast<i64>(x.indices[p]);
                if (static_cast<u64>(i) >= static_cast<u64>(n)) {
                    bad |= OUT_OF_RANGE;
                    continue;
                }
                if (codes[i] < 0 || codes[i] >= classes)
                    throw std::out_of_range("a class code is out of range");
                bad |= add_value<Cells>(cell, codes[i], x.data[p], weights ? weights[i] : 1.0, rule);
            }
            for (i64 k = 0; k < classes; ++k) {
                double *to[Cells::parts], *from[Cells::parts];
                for (int p = 0; p < Cells::parts; ++p)
                    to[p] = out[p] + k * d + j, from[p] = cell[p] + k;
                Cells::merge(to, from, 1);
            }
        }
        if (bad) fault |= bad;
    });
    return fault;
}

// Level counts of the stored values of a CSR matrix of codes; absent values are the caller's.
template <class T, class I, class Code>
int count_levels_csr(const Compressed<T, I>& x, const i32* codes, const double* weights,
                     i64 classes, const i64* start, double* counts, Code&& code_of) {
    const i64 d = x.minor, cells = start[d];
    int fault = FINE;
    for (i64 i = 0; i < x.major; ++i) {
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        double* row = counts + codes[i] * cells;
        const double w = weights ? weights[i] : 1.0;
        for (I p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i64 j = static_cast<i64>(x.indices[p]);
            if (static_cast<u64>(j) >= static_cast<u64>(d)) {
                fault |= OUT_OF_RANGE;
                continue;
            }
            const i64 code = code_of(x.data[p], fault);
            if (code >= start[j + 1] - start[j])
                fault |= OUT_OF_RANGE;
            else
                row[start[j] + code] += w;
        }
    }
    return fault;
}

}  // namespace tb
