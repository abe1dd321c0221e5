// Evaluating the score kinds on rows, as a matrix of scores or as the best class of each row.
#pragma once
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "count/levels.hpp"
#include "count/sparse.hpp"

namespace tb {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
constexpr i64 SCORE_ROWS = 512;     // rows of a scoring task
constexpr i64 TILE_COLUMNS = 128;   // features packed at a time

// Where scores go: a matrix (n, classes), or the best class of each row. `fallback` is the class of
// a row that every class rules out.
struct Scores {
    double* matrix = nullptr;  // row-major
    i64* best = nullptr;
    i64 fallback = 0;
};

struct Outcome {
    int fault = FINE;
    bool unseen = false;
    i64 ruled_out = 0;  // rows without a finite score, counted where the best class is asked for
};

enum class DenseKind { quadratic, linear, linear_masked };

struct DenseModel {  // parameters row-major (classes, d)
    DenseKind kind;
    i64 classes, d;
    const double *first, *second, *offset;  // mean and scale, or weights; offset (classes,)
    const double* threshold;                // x becomes [x > threshold] where given
    Demand demand;
};

template <class M>
int pack_tile(const Loops& loops, const M& x, i64 r0, i64 rows, i64 c0, i64 d,
              const DenseModel& model, double* tile) {
    int seen = 0;  // bit 0: not finite, bit 1: negative
    bool packed = false;
    if constexpr (holds_floats<M>) {
        packed = rows == TILE && x.column == 1;
        using T = std::decay_t<decltype(*x.data)>;
        if (packed) seen = loops.of<T>().pack(x.at(r0, c0), x.row, d, tile);
    }
    for (i64 j = 0; j < d && !packed; ++j) {
        double* to = tile + j * TILE;
        x.read(r0, rows, c0 + j, to, 1);
        for (i64 r = 0; r < rows; ++r)
            seen |= (to[r] * 0.0 == 0.0 ? 0 : 1) | (to[r] < 0.0 ? 2 : 0);
        for (i64 r = rows; r < TILE; ++r) to[r] = 0.0;
    }
    if (model.threshold)
        for (i64 i = 0; i < d * TILE; ++i) tile[i] = tile[i] > *model.threshold ? 1.0 : 0.0;
    return (seen & 1 ? NOT_FINITE : FINE) |
           (seen & 2 && model.demand == Demand::non_negative ? NEGATIVE : FINE);
}

template <class M>
Outcome score_dense(const Loops& loops, const M& x, const DenseModel& m,
                    const Scores& out, int threads) {
    const i64 K = m.classes, tasks = (x.n + SCORE_ROWS - 1) / SCORE_ROWS;
    threads = threads_for(x.n * x.d * K, tasks, threads);
    struct alignas(APART) Local {
        Buffer<double> tile, acc, best;
        Buffer<i64> arg;
        Outcome outcome;
    };
    std::vector<Local> locals(threads);
    for (auto& local : locals) {
        local.tile.resize(TILE * (x.d < TILE_COLUMNS ? x.d : TILE_COLUMNS));
        local.acc.resize(TILE * K);
        local.best.resize(TILE), local.arg.resize(TILE);
    }
    run_tasks(tasks, threads, [&](i64 task, int thread) {
        Local& local = locals[thread];
        double* acc = local.acc.get();
        const i64 end = (task + 1) * SCORE_ROWS < x.n ? (task + 1) * SCORE_ROWS : x.n;
        for (i64 r0 = task * SCORE_ROWS; r0 < end; r0 += TILE) {
            const i64 rows = end - r0 < TILE ? end - r0 : TILE;
            for (i64 k = 0; k < K; ++k)
                for (i64 l = 0; l < TILE; ++l) acc[k * TILE + l] = m.offset[k];
            for (i64 c0 = 0; c0 < x.d; c0 += TILE_COLUMNS) {
                const i64 d = x.d - c0 < TILE_COLUMNS ? x.d - c0 : TILE_COLUMNS;
                double* tile = local.tile.get();
                local.outcome.fault |= pack_tile(loops, x, r0, rows, c0, d, m, tile);
                if (m.kind == DenseKind::quadratic)
                    loops.tile_quadratic(d, K, m.d, tile, m.first + c0, m.second + c0, acc);
                else if (m.kind == DenseKind::linear)
                    loops.tile_linear(d, K, m.d, tile, m.first + c0, acc);
                else
                    loops.tile_linear_masked(d, K, m.d, tile, m.first + c0, acc);
            }
            if (out.matrix) {
                for (i64 r = 0; r < rows; ++r)
                    for (i64 k = 0; k < K; ++k) out.matrix[(r0 + r) * K + k] = acc[k * TILE + r];
            } else {
                for (i64 l = 0; l < TILE; ++l) local.best[l] = NEVER, local.arg[l] = out.fallback;
                loops.tile_best(K, 0, acc, local.best.get(), local.arg.get());
                for (i64 r = 0; r < rows; ++r) {
                    out.best[r0 + r] = local.arg[r];
                    local.outcome.ruled_out += local.best[r] == NEVER;
                }
            }
        }
    });
    Outcome total;
    for (auto& local : locals) {
        total.fault |= local.outcome.fault;
        total.ruled_out += local.outcome.ruled_out;
    }
    return total;
}

// ---- tables with classes as lanes --------------------------------------------------------------
// Entries (features, or levels) by blocks of `width` classes: table[(block·entries + e)·width + lane].
struct LaneTable {
    i64 classes, entries, parts, width, blocks;
    Buffer<double> table, offset;

    // `parts` arrays (classes, entries) are interleaved entry by entry.
    LaneTable(i64 classes_, i64 entries_, i64 parts_, const double* const* source,
              const double* offset_, int threads)
        : classes(classes_), entries(entries_), parts(parts_) {
        lay_out(offset_);
        constexpr i64 STEP = 64;
        const i64 steps = (entries + STEP - 1) / STEP;
        run_tasks(blocks * steps, threads_for(blocks * entries * parts * width, blocks * steps, threads),
                  [&](i64 task, int) {
                      const i64 b = task / steps, e0 = task % steps * STEP;
                      const i64 e1 = e0 + STEP < entries ? e0 + STEP : entries;
                      for (i64 p = 0; p < parts; ++p)
                          for (i64 l = 0; l < width; ++l) {
                              const i64 k = b * width + l;
                              double* to = table.get() + ((b * entries + e0) * parts + p) * width + l;
                              for (i64 e = e0; e < e1; ++e, to += parts * width)
                                  *to = k < classes ? source[p][k * entries + e] : 0.0;
                          }
                  });
    }

    struct Columns {  // (classes, width)
        const double* table;
        i64 width;
    };

    // Tables side by side, an entry of zeros after each.
    LaneTable(i64 classes_, const std::vector<Columns>& tables, const double* offset_, int threads)
        : classes(classes_), entries(0), parts(1) {
        std::vector<i64> start;
        for (const Columns& t : tables) start.push_back(entries), entries += t.width + 1;
        lay_out(offset_);
        constexpr i64 STEP = 8;
        const i64 n = static_cast<i64>(tables.size()), steps = (n + STEP - 1) / STEP;
        run_tasks(steps, threads_for(blocks * entries * width, steps, threads), [&](i64 task, int) {
            for (i64 t = task * STEP; t < n && t < (task + 1) * STEP; ++t)
                for (i64 k = 0; k < blocks * width; ++k) {
                    const i64 w = tables[t].width;
                    double* to = table.get() + (k / width * entries + start[t]) * width + k % width;
                    for (i64 e = 0; e <= w; ++e, to += width)
                        *to = k < classes && e < w ? tables[t].table[k * w + e] : 0.0;
                }
        });
    }

    void lay_out(const double* offset_) {
        // one block where the classes fit, else the widest whose table stays in the cache
        const i64 lanes = classes <= 32 ? (classes + 7) / 8 * 8
                          : entries * parts * 32 * 8 <= (i64(1) << 20) ? 32
                                                                       : 16;
        width = lanes < 8 ? 8 : lanes;
        blocks = (classes + width - 1) / width;
        table.resize(blocks * entries * parts * width);
        offset.resize(blocks * width);
        for (i64 k = 0; k < blocks * width; ++k) offset[k] = k < classes ? offset_[k] : NEVER;
    }
    int vectors() const { return static_cast<int>(width / 8); }
    const double* block(i64 b) const { return table.get() + b * entries * parts * width; }
};

constexpr i64 LANE_ROWS = 64;  // rows scored before their lanes are read

// What a thread has read of a chunk: the entries of codes, or sparse rows whose data was copied.
struct LaneRows {
    Buffer<i32> entry;
    Buffer<double> data;
    std::tuple<Buffer<i32>, Buffer<i64>> indptr;  // one of them: of the type of the matrix's own
};
using BeginLanes = std::function<int(i64 r0, i64 r1, LaneRows&, Outcome&)>;
using RowsOfLanes = std::function<void(i64 block, i64 r0, i64 r, i64 count, LaneRows&, double* lanes)>;

// Runs rows(block, r0, r, count, …) over row chunks from r0 on and class blocks, and gathers the
// lanes. begin(r0, r1, …) sees each chunk first and returns its fault.
inline Outcome score_lanes(const LaneTable& m, i64 n, i64 work, const Scores& out, int threads,
                           const BeginLanes& begin, const RowsOfLanes& rows) {
    // a block of a wide table is used for many rows before the next one is fetched
    const i64 chunk = m.blocks == 1 ? 1024 : 1 << 15;
    const i64 tasks = (n + chunk - 1) / chunk;
    threads = threads_for(work, tasks, threads);
    struct alignas(APART) Thread {
        LaneRows local;
        Buffer<double> lanes, best;
        Buffer<i64> arg;
        Outcome outcome;
    };
    std::vector<Thread> all(threads);
    run_tasks(tasks, threads, [&](i64 task, int thread) {
        Thread& t = all[thread];
        const i64 r0 = task * chunk, r1 = r0 + chunk < n ? r0 + chunk : n;
        const int fault = begin(r0, r1, t.local, t.outcome);
        t.outcome.fault |= fault;
        if (fault & OUT_OF_RANGE) return;
        t.lanes.resize(LANE_ROWS * m.width);
        if (out.best) {
            t.best.resize(r1 - r0), t.arg.resize(r1 - r0);
            for (i64 r = 0; r < r1 - r0; ++r) t.best[r] = NEVER, t.arg[r] = out.fallback;
        }
        for (i64 b = 0; b < m.blocks; ++b) {
            const i64 k0 = b * m.width;
            const i64 used = m.classes - k0 < m.width ? m.classes - k0 : m.width;
            for (i64 r = r0; r < r1; r += LANE_ROWS) {
                const i64 count = r1 - r < LANE_ROWS ? r1 - r : LANE_ROWS;
                rows(b, r0, r, count, t.local, t.lanes.get());
                for (i64 i = 0; i < count; ++i) {
                    const double* lane = t.lanes.get() + i * m.width;
                    if (out.matrix) {
                        double* to = out.matrix + (r + i) * m.classes + k0;
                        for (i64 k = 0; k < used; ++k) to[k] = lane[k];
                    } else {
                        double best = t.best[r - r0 + i];
                        i64 arg = t.arg[r - r0 + i];
                        for (i64 k = 0; k < used; ++k)
                            if (lane[k] > best) best = lane[k], arg = k0 + k;
                        t.best[r - r0 + i] = best, t.arg[r - r0 + i] = arg;
                    }
                }
            }
        }
        if (out.best)
            for (i64 r = r0; r < r1; ++r) {
                out.best[r] = t.arg[r - r0];
                t.outcome.ruled_out += t.best[r - r0] == NEVER;
            }
    });
    Outcome total;
    for (auto& t : all) {
        total.fault |= t.outcome.fault;
        total.unseen |= t.outcome.unseen;
        total.ruled_out += t.outcome.ruled_out;
    }
    return total;
}

// Codes looked up in a table whose column j has n_levels + 1 entries, the last for unseen levels.
template <class T>
Outcome score_codes(const Loops& loops, const TypedMatrix<T>& x, const LaneTable& m,
                    const i64* start, const Scores& out, int threads) {
    return score_lanes(
        m, x.n, x.n * x.d * m.classes, out, threads,
        [&](i64 r0, i64 r1, LaneRows& local, Outcome& outcome) {
            local.entry.resize((r1 - r0) * x.d);
            return table_entries(x, r0, r1, start, local.entry.get(), outcome.unseen);
        },
        [&](i64 b, i64 r0, i64 r, i64 count, LaneRows& local, double* lanes) {
            loops.gather(m.vectors(), count, x.d, local.entry.get() + (r - r0) * x.d, m.block(b),
                         m.offset.get() + b * m.width, lanes);
        });
}

template <class T, class I>
const SparseScore<I>& sparse_loops(const Loops& loops, SparseKind kind) {
    if constexpr (sizeof(I) == 4)
        return loops.sparse_i32[kind];
    else
        return loops.sparse_i64[kind];
}

template <class T, class I>
Outcome score_csr(const Loops& loops, const Compressed<T, I>& x, const LaneTable& m,
                  SparseKind kind, double threshold, Demand demand, const Scores& out,
                  int threads) {
    const i64 n = x.major;
    const i64 nnz = n ? static_cast<i64>(x.indptr[n]) - static_cast<i64>(x.indptr[0]) : 0;
    return score_lanes(
        m, n, nnz * m.classes, out, threads,
        [&](i64 r0, i64 r1, LaneRows& local, Outcome&) {
            const i64 p0 = x.indptr[r0], p1 = x.indptr[r1];
            int beyond = 0, not_finite = 0, negative = 0;
            for (i64 p = p0; p < p1; ++p)
                beyond |= static_cast<u64>(x.indices[p]) >= static_cast<u64>(x.minor);
            for (i64 p = p0; p < p1; ++p) {
                not_finite |= !(x.data[p] * T(0) == T(0));
                negative |= x.data[p] < T(0);
            }
            if constexpr (!std::is_floating_point_v<T>) {  // read as float64
                auto& indptr = std::get<Buffer<I>>(local.indptr);
                local.data.resize(p1 - p0), indptr.resize(r1 - r0 + 1);
                for (i64 p = p0; p < p1; ++p) local.data[p - p0] = static_cast<double>(x.data[p]);
                for (i64 r = r0; r <= r1; ++r)
                    indptr[r - r0] = static_cast<I>(x.indptr[r] - x.indptr[r0]);
            }
            return (beyond ? OUT_OF_RANGE : FINE) | (not_finite ? NOT_FINITE : FINE) |
                   (negative && demand == Demand::non_negative ? NEGATIVE : FINE);
        },
        [&](i64 b, i64 r0, i64 r, i64 count, LaneRows& local, double* lanes) {
            const auto& loop = sparse_loops<T, I>(loops, kind);
            const double* offset = m.offset.get() + b * m.width;
            if constexpr (std::is_same_v<T, double>)
                loop.f64(m.vectors(), count, x.indptr + r, x.indices, x.data, threshold, m.block(b),
                         offset, lanes);
            else if constexpr (std::is_same_v<T, float>)
                loop.f32(m.vectors(), count, x.indptr + r, x.indices, x.data, threshold, m.block(b),
                         offset, lanes);
            else
                loop.f64(m.vectors(), count, std::get<Buffer<I>>(local.indptr).get() + (r - r0),
                         x.indices + x.indptr[r0], local.data.get(), threshold, m.block(b), offset,
                         lanes);
        });
}

// ---- Bayes' rule, last step --------------------------------------------------------------------
// Subtracts log Σ exp from each row of scores (n, classes) in place; a row that every class rules
// out becomes `fallback` (classes,). With `probability` the row is exponentiated. Returns the number
// of rows ruled out; log_evidence (n,), where given, gets log Σ exp.
inline i64 normalise(double* scores, i64 n, i64 classes, const double* fallback, bool probability,
                     double* log_evidence, int threads) {
    constexpr i64 ROWS = 1024;
    std::atomic<i64> ruled_out{0};
    run_rows(n, ROWS, n * classes * 8, threads, [&](i64 begin, i64 end) {
        i64 out = 0;
        for (i64 r = begin; r < end; ++r) {
            double* row = scores + r * classes;
            double top = NEVER;
            for (i64 k = 0; k < classes; ++k) top = row[k] > top ? row[k] : top;
            if (top == NEVER) {
                for (i64 k = 0; k < classes; ++k)
                    row[k] = probability ? std::exp(fallback[k]) : fallback[k];
                if (log_evidence) log_evidence[r] = NEVER;
                ++out;
                continue;
            }
            double total = 0.0;
            if (probability) {
                for (i64 k = 0; k < classes; ++k) total += row[k] = std::exp(row[k] - top);
                for (i64 k = 0; k < classes; ++k) row[k] /= total;
            } else {
                for (i64 k = 0; k < classes; ++k) total += std::exp(row[k] - top);
                const double log_total = std::log(total);
                for (i64 k = 0; k < classes; ++k) row[k] = (row[k] - top) - log_total;
            }
            if (log_evidence) log_evidence[r] = top + std::log(total);
        }
        if (out) ruled_out += out;
    });
    return ruled_out;
}

}  // namespace tb
