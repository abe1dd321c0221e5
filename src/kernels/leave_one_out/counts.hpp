// Leave-one-out scores of counts and level codes: what a row's own class, or the complement of the
// others, says of it after the row itself is taken out; and Bayes' rule with such a class prior.
//
// Rows are read in chunks that the shape decides and written where they belong, so that neither
// threads nor instruction sets show in the result.
#pragma once
#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "count/levels.hpp"
#include "count/sparse.hpp"
#include "score/score_kinds.hpp"

namespace tb {

constexpr i64 HELD_ENTRIES = 1 << 16;  // about so many are held at a time

inline i64 rows_at_once(i64 n, i64 entries) {
    const i64 rows = HELD_ENTRIES / (entries / (n < 1 ? 1 : n) + 1);
    return rows < 1 ? 1 : rows > 4096 ? 4096 : rows;
}

struct Taken {  // each row's class and weight; the number of classes
    const i64* own;
    const double* weight;
    i64 n, classes;
};

inline void need_classes(const Taken& taken) {
    bool within = true;
    for (i64 i = 0; i < taken.n; ++i) within &= taken.own[i] >= 0 && taken.own[i] < taken.classes;
    if (!within) throw std::out_of_range("a class is out of range");
}

struct Smoothing {  // a pseudo-count for all columns (step 0), or one for each (step 1)
    const double* value;
    i64 step;
    double at(i64 j) const { return value[j * step]; }
};

// whole − part of weights; what can only be rounding is 0.
inline double rest_of(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
}
// The same of a whole that is itself a difference, and so rounded beside what it was taken from.
inline double rest_of(double whole, double part, double from) {
    const double rest = whole - part;
    return rest <= 0.0 || (rest <= RESIDUE * from && rest < 0.5) ? 0.0 : rest;
}

// Some rows class by class: the table of a class stays in the cache.
inline void by_class(const Taken& taken, i64 r0, i64 n, Buffer<i64>& place, Buffer<i64>& order) {
    place.resize(taken.classes + 1), order.resize(n);
    for (i64 k = 0; k <= taken.classes; ++k) place[k] = 0;
    for (i64 r = 0; r < n; ++r) ++place[taken.own[r0 + r] + 1];
    for (i64 k = 0; k < taken.classes; ++k) place[k + 1] += place[k];
    for (i64 r = 0; r < n; ++r) order[place[taken.own[r0 + r]]++] = r;
}

// ---- the entries of rows ------------------------------------------------------------------------
struct Entries {  // those of some rows that are not 0; as 1, where there is a threshold
    Buffer<i64> start;
    Buffer<i32> index;
    Buffer<double> value;
    void begin(i64 rows, i64 most) {
        start.resize(rows + 1), index.resize(most), value.resize(most);
        start[0] = 0;
    }
};

// Reads rows r0 … r1−1, and returns what is wrong with them.
using ReadRows = std::function<int(i64 r0, i64 r1, Entries&)>;

// Takes one row's values value(0 … count−1) of columns column(…) into entries from `at` on.
template <class Column, class Value>
inline i64 keep(i64 count, const double* threshold, Entries& to, i64 at, int& fault, Column&& column,
                Value&& value) {
    if (threshold) {
        for (i64 p = 0; p < count; ++p) {
            to.index[at] = static_cast<i32>(column(p)), to.value[at] = 1.0;
            at += value(p) > *threshold;
        }
        return at;
    }
    bool wrong = false;  // counts are neither negative nor infinite
    for (i64 p = 0; p < count; ++p) {
        const double x = value(p);
        to.index[at] = static_cast<i32>(column(p)), to.value[at] = x;
        at += x != 0.0;
        wrong |= !(x >= 0.0 && x <= std::numeric_limits<double>::max());
    }
    for (i64 p = 0; wrong && p < count; ++p) fault |= fault_of(value(p), Demand::non_negative);
    return at;
}

template <class M>
ReadRows reader(const M& x, const double* threshold) {
    return [x, threshold](i64 r0, i64 r1, Entries& to) {
        to.begin(r1 - r0, (r1 - r0) * x.d + 1);
        int fault = FINE;
        const auto keep_row = [&](i64 i, auto&& value) {
            to.start[i - r0 + 1] = keep(
                x.d, threshold, to, to.start[i - r0], fault, [](i64 p) { return p; }, value);
        };
        std::vector<double> copied(holds_floats<M> ? 0 : static_cast<std::size_t>(x.d));
        for (i64 i = r0; i < r1; ++i) {
            if constexpr (holds_floats<M>) {
                const auto* row = x.at(i, 0);
                keep_row(i, [&](i64 p) { return static_cast<double>(row[p * x.column]); });
            } else {
                x.read_row(i, x.d, copied.data());
                keep_row(i, [row = copied.data()](i64 p) { return row[p]; });
            }
        }
        return fault;
    };
}

template <class T, class I>
ReadRows reader(const Compressed<T, I>& x, const double* threshold) {
    return [x, threshold](i64 r0, i64 r1, Entries& to) {
        // one more is written before it is known to be 0
        to.begin(r1 - r0, static_cast<i64>(x.indptr[r1] - x.indptr[r0]) + 1);
        int fault = FINE;
        for (i64 i = r0; i < r1; ++i) {
            const i64 p0 = x.indptr[i], count = x.indptr[i + 1] - p0;
            bool beyond = false;
            for (i64 p = p0; p < p0 + count; ++p)
                beyond |= static_cast<u64>(x.indices[p]) >= static_cast<u64>(x.minor);
            if (beyond) fault |= OUT_OF_RANGE;
            to.start[i - r0 + 1] = keep(
                beyond ? 0 : count, threshold, to, to.start[i - r0], fault,
                [&](i64 p) { return x.indices[p0 + p]; },
                [&](i64 p) { return static_cast<double>(x.data[p0 + p]); });
        }
        return fault;
    };
}

// Calls chunk(r0, r1, thread) for `rows` rows at a time; returns the faults.
template <class Chunk>
int each_chunk(i64 n, i64 rows, int threads, Chunk&& chunk) {
    std::atomic<int> fault{FINE};
    run_tasks((n + rows - 1) / rows, threads, [&](i64 task, int thread) {
        const i64 r0 = task * rows, r1 = r0 + rows < n ? r0 + rows : n;
        const int bad = chunk(r0, r1, thread);
        if (bad) fault |= bad;
    });
    return fault;
}

// ---- what a row's own class says of its entries ------------------------------------------------
// score = Σ x·number(cell, column, w, x, sum), or with Log Σ x·log number(…), over the entries of
// each row, where a cell is the `step` numbers of table (classes, d, step); `sum` is what those
// calls have added to it.
template <bool Log, class Number>
int entries_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                    const double* table, i64 d, i64 step, double* score, double* sum, int threads,
                    Number&& number) {
    need_classes(taken);
    const i64 rows = rows_at_once(taken.n, work);
    threads = threads_for(work * 4, (taken.n + rows - 1) / rows, threads);
    struct alignas(APART) Local {
        Entries entries;
        Buffer<double> logs;
        Buffer<i64> place, order;
    };
    std::vector<Local> locals(threads);
    return each_chunk(taken.n, rows, threads, [&](i64 r0, i64 r1, int thread) {
        Local& local = locals[thread];
        const Entries& e = local.entries;
        const int fault = read(r0, r1, local.entries);
        by_class(taken, r0, r1 - r0, local.place, local.order);
        for (i64 at = 0; at < r1 - r0; ++at) {
            const i64 r = local.order[at], i = r0 + r, p0 = e.start[r], n = e.start[r + 1] - p0;
            const double* mine = table + taken.own[i] * d * step;
            local.logs.resize(n);
            double *logs = local.logs.get(), counted = 0.0, total = 0.0;
            if (at + 1 < r1 - r0) {  // of the next row: the table is larger than the caches
                const i64 next = local.order[at + 1];
                const double* its = table + taken.own[r0 + next] * d * step;
                for (i64 p = e.start[next]; p < e.start[next + 1]; ++p)
                    __builtin_prefetch(its + e.index[p] * step);
            }
            for (i64 p = 0; p < n; ++p) {
                const i64 j = e.index[p0 + p];
                logs[p] = number(mine + j * step, j, taken.own[i], taken.weight[i], e.value[p0 + p], counted);
            }
            if (Log) loops.logs(n, logs);
            for (i64 p = 0; p < n; ++p) total += e.value[p0 + p] * logs[p];
            sum[i] = counted, score[i] = total;
        }
        return fault;
    });
}

// score = Σ x·log(part[own, j] − w·x + α_j) over the entries of a row, length = Σ x.
inline int sums_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                        const double* part, i64 d, Smoothing alpha, double* score, double* length,
                        int threads) {
    return entries_without<true>(loops, read, work, taken, part, d, 1, score, length, threads,
                           [=](const double* cell, i64 j, i64, double w, double x, double& total) {
                               total += x;
                               return rest_of(*cell, w * x) + alpha.at(j);
                           });
}

// score = Σ x·table[own, j] over the entries of a row.
inline int own_sums(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                    const double* table, i64 d, double* score, double* length, int threads) {
    return entries_without<false>(loops, read, work, taken, table, d, 1, score, length, threads,
                                  [](const double* cell, i64, i64, double, double x, double& total) {
                                      total += x;
                                      return *cell;
                                  });
}

// score = Σ log(present[own, j] − w + yes_j) − log(absent[own, j] − w + no_j) over the features that
// a row has; ruled = how many of the subtrahends are log 0, which are left out. Present and absent
// stand side by side: pair (classes, d, 2). Absent is a difference from rows (classes).
inline int presence_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                            const double* pair, const double* rows, i64 d, Smoothing yes,
                            Smoothing no, double* score, double* ruled, int threads) {
    return entries_without<true>(loops, read, work, taken, pair, d, 2, score, ruled, threads,
                           [=](const double* cell, i64 j, i64 own, double w, double, double& total) {
                               const double there = rest_of(cell[0], w) + yes.at(j);
                               const double gone = rest_of(cell[1], w, rows[own]) + no.at(j);
                               total += gone == 0.0;
                               return there / (gone == 0.0 ? 1.0 : gone);
                           });
}

// ---- Σ_j log((v[own, j] − w + α_j) / scale) over all columns -----------------------------------
// A column of much more weight than any row of the class, v > w, adds log A + log(1 − w/A), A = v + α,
// whose series is summed over such columns once; only the others are visited for each row. The scale is
// near what most of them are: many large logarithms would not add up to a small difference. v is a
// difference `from` some number.
class ShiftedLogs {
public:
    void read(const Loops& loops, const double* v, i64 step, i64 d, Smoothing alpha, double scale,
              double heaviest, double from) {
        heaviest_ = heaviest, from_ = from, base_ = 0.0, scale_ = scale > 0.0 ? scale : 1.0;
        for (double& moment : moment_) moment = 0.0;
        few_.clear();
        double logs[BLOCK];
        i64 n = 0;
        auto flush = [&] {
            loops.logs(n, logs);
            for (i64 i = 0; i < n; ++i) base_ += logs[i];
            n = 0;
        };
        for (i64 j = 0; j < d; ++j) {
            const double a = v[j * step] + alpha.at(j);
            const bool fewer = heaviest > 0.0 && rest_of(v[j * step], heaviest, from) == 0.0;
            if (fewer || !(a > 0.0 && a >= MUCH * heaviest)) {  // and columns that are alike as one
                const bool again = !few_.empty() && few_.back().v == v[j * step] &&
                                       few_.back().a == alpha.at(j);
                if (again)
                    few_.back().times += 1.0;
                else
                    few_.push_back({v[j * step], alpha.at(j), 1.0});
                continue;
            }
            logs[n++] = a / scale_;
            if (n == BLOCK) flush();
            const double z = heaviest / a;
            double power = 1.0;
            for (int k = 0; k < TERMS; ++k) moment_[k] += power *= z;
        }
        flush();
    }
    // Adds the sum without its terms log 0 to `sum`, and how many those are to `zeros`.
    void add(double w, double& sum, double& zeros) const {
        const double share = heaviest_ > 0.0 ? w / heaviest_ : 0.0;
        double total = base_, power = 1.0;
        for (int k = 0; k < TERMS; ++k) total -= (power *= share) * moment_[k] / (k + 1);
        for (const Few& few : few_) {
            const double rest = rest_of(few.v, w, from_) + few.a;
            if (rest == 0.0)
                zeros += few.times;
            else
                total += few.times * std::log(rest / scale_);
        }
        sum += total;
    }

private:
    static constexpr double MUCH = 64.0;  // w/A at most 2⁻⁶: what follows ten terms is rounding
    static constexpr int TERMS = 10;
    static constexpr i64 BLOCK = 512;
    struct Few {
        double v, a, times;
    };
    double heaviest_ = 0.0, from_ = 0.0, base_ = 0.0, scale_ = 1.0, moment_[TERMS];
    std::vector<Few> few_;
};

// sum[i] += sign·Σ_j log((v[own, j] − w + α_j) / scale[own]) without the terms log 0, zeros[i] +=
// their number. v[k, j] stands at v[k·row + j·step], a difference from from[k].
inline void shifted_logs(const Loops& loops, const Taken& taken, const double* v, i64 row, i64 step,
                         i64 d, Smoothing alpha, const double* from, const double* scale,
                         double sign, double* sum, double* zeros, int threads) {
    need_classes(taken);
    std::vector<double> heaviest(taken.classes, -1.0);
    for (i64 i = 0; i < taken.n; ++i) {
        const double w = std::fabs(taken.weight[i]);
        if (w > heaviest[taken.own[i]]) heaviest[taken.own[i]] = w;
    }
    std::vector<ShiftedLogs> logs(taken.classes);
    run_tasks(taken.classes, threads_for(taken.classes * d * 8, taken.classes, threads),
              [&](i64 k, int) {
                  if (heaviest[k] < 0.0) return;
                  logs[k].read(loops, v + k * row, step, d, alpha, scale[k], heaviest[k], from[k]);
              });
    constexpr i64 ROWS = 1024;
    each_chunk(taken.n, ROWS, threads_for(taken.n * 16, taken.n / ROWS, threads),
               [&](i64 r0, i64 r1, int) {
                   for (i64 i = r0; i < r1; ++i) {
                       double total = 0.0, none = 0.0;
                       logs[taken.own[i]].add(taken.weight[i], total, none);
                       sum[i] += sign * total, zeros[i] += none;
                   }
                   return static_cast<int>(FINE);
               });
}

// ---- level codes ---------------------------------------------------------------------------------
// scores[i, own] = offset[own] + Σ_j table[own, start_j + code]; OUT_OF_RANGE for a code beyond its
// column's entries.
template <class T>
int codes_without(const TypedMatrix<T>& x, const i64* start, const double* table, const Taken& taken,
                  double* scores, int threads) {
    need_classes(taken);
    constexpr i64 ROWS = 1024;
    const i64 cells = start[x.d];
    return each_chunk(x.n, ROWS, threads_for(x.n * x.d, x.n / ROWS, threads), [&](i64 r0, i64 r1, int) {
        int fault = FINE;
        for (i64 i = r0; i < r1; ++i) {
            const double* mine = table + taken.own[i] * cells;
            double sum = 0.0;
            for (i64 j = 0; j < x.d; ++j) {
                const i64 code = code_of(*x.at(i, j), fault);
                if (code >= start[j + 1] - start[j])
                    fault |= OUT_OF_RANGE;
                else
                    sum += mine[start[j] + code];
            }
            scores[i * taken.classes + taken.own[i]] = sum;
        }
        return fault;
    });
}

// The largest of some scores where it is so far from 0 that a log prior would lose digits beside it;
// else 0, which changes no bit.
inline double far_from_zero(const double* scores, i64 n) {
    constexpr double FAR = 1048576.0;
    double top = NEVER;
    for (i64 k = 0; k < n; ++k) top = scores[k] > top ? scores[k] : top;
    return std::isfinite(top) && std::fabs(top) > FAR ? top : 0.0;
}

// ---- Bayes' rule ---------------------------------------------------------------------------------
// Adds the class prior to scores (n, classes) and normalises them in place: log P(c) is other[c], and
// own[i] in the class of row i, up to a term that all classes share. A row that every class rules
// out gets the prior; returns how many those are.
inline i64 posterior_without(double* scores, const Taken& taken, const double* other,
                             const double* own, int threads) {
    need_classes(taken);
    constexpr i64 ROWS = 1024;
    const i64 K = taken.classes;
    std::atomic<i64> ruled_out{0};
    each_chunk(taken.n, ROWS, threads_for(taken.n * K * 8, taken.n / ROWS, threads),
               [&](i64 r0, i64 r1, int) {
                   i64 out = 0;
                   for (i64 i = r0; i < r1; ++i) {
                       double* row = scores + i * K;
                       auto prior = [&](i64 k) { return k == taken.own[i] ? own[i] : other[k]; };
                       const double far = far_from_zero(row, K);
                       double top = NEVER, total = 0.0;
                       for (i64 k = 0; k < K; ++k) {
                           row[k] = (row[k] - far) + prior(k);
                           top = row[k] > top ? row[k] : top;
                       }
                       if (top == NEVER) {
                           for (i64 k = 0; k < K; ++k) {
                               row[k] = prior(k);
                               top = row[k] > top ? row[k] : top;
                           }
                           ++out;
                       }
                       for (i64 k = 0; k < K; ++k) total += std::exp(row[k] - top);
                       const double log_total = std::log(total);
                       for (i64 k = 0; k < K; ++k) row[k] = (row[k] - top) - log_total;
                   }
                   if (out) ruled_out += out;
                   return static_cast<int>(FINE);
               });
    return ruled_out;
}

}  // namespace tb
