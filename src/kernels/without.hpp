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

#include "levels.hpp"
#include "parallel.hpp"
#include "score.hpp"
#include "sparse.hpp"
#include "view.hpp"

namespace tb {

constexpr i64 WITHOUT_ROWS = 64;  // rows whose entries are held at a time

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

// ---- the entries of rows ------------------------------------------------------------------------
struct Entries {  // those of some rows that are not 0; as 1, where there is a threshold
    Buffer<i64> start;
    Buffer<i32> index;
    Buffer<double> value;
    EntryRows rows(i64 n, const double* weight) const {
        return {n, start.get(), index.get(), value.get(), weight};
    }
};

// Reads the rows r0 … r1−1 and returns what is wrong with them.
using ReadRows = std::function<int(i64 r0, i64 r1, Entries&)>;

// Calls each(place, column, value) for what counts; without a threshold, counts cannot be negative.
template <class Each>
inline int keep(double x, i64 j, const double* threshold, i64& at, Each&& each) {
    if (threshold ? x > *threshold : x != 0.0) each(at++, j, threshold ? 1.0 : x);
    return threshold ? FINE : fault_of(x, Demand::non_negative);
}

template <class T>
ReadRows reader(const TypedMatrix<T>& x, const double* threshold) {
    return [x, threshold](i64 r0, i64 r1, Entries& to) {
        to.start.resize(r1 - r0 + 1);
        to.index.resize((r1 - r0) * x.d), to.value.resize((r1 - r0) * x.d);
        i64 at = 0;
        int fault = FINE;
        for (i64 i = r0; i < r1; ++i) {
            to.start[i - r0] = at;
            for (i64 j = 0; j < x.d; ++j)
                fault |= keep(static_cast<double>(*x.at(i, j)), j, threshold, at, [&](i64 p, i64 k, double v) {
                    to.index[p] = static_cast<i32>(k), to.value[p] = v;
                });
        }
        to.start[r1 - r0] = at;
        return fault;
    };
}

template <class T, class I>
ReadRows reader(const Compressed<T, I>& x, const double* threshold) {
    return [x, threshold](i64 r0, i64 r1, Entries& to) {
        const i64 stored = static_cast<i64>(x.indptr[r1]) - static_cast<i64>(x.indptr[r0]);
        to.start.resize(r1 - r0 + 1), to.index.resize(stored), to.value.resize(stored);
        i64 at = 0;
        int fault = FINE;
        for (i64 i = r0; i < r1; ++i) {
            to.start[i - r0] = at;
            for (i64 p = x.indptr[i]; p < static_cast<i64>(x.indptr[i + 1]); ++p) {
                const i64 j = static_cast<i64>(x.indices[p]);
                if (static_cast<u64>(j) >= static_cast<u64>(x.minor)) {
                    fault |= OUT_OF_RANGE;
                    continue;
                }
                fault |= keep(static_cast<double>(x.data[p]), j, threshold, at, [&](i64 q, i64 k, double v) {
                    to.index[q] = static_cast<i32>(k), to.value[q] = v;
                });
            }
        }
        to.start[r1 - r0] = at;
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

// ---- sums: log(part − w·x) by a row's own class ------------------------------------------------
// score = Σ x·log(part[own, j] − w·x + α_j) over the entries of a row, length = Σ x.
inline int sums_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                        const double* part, i64 d, Smoothing alpha, double* score, double* length,
                        int threads) {
    need_classes(taken);
    threads = threads_for(work * 4, (taken.n + WITHOUT_ROWS - 1) / WITHOUT_ROWS, threads);
    struct Local {
        Entries entries;
        Buffer<double> logs;
    };
    std::vector<Local> locals(threads);
    return each_chunk(taken.n, WITHOUT_ROWS, threads, [&](i64 r0, i64 r1, int thread) {
        Local& local = locals[thread];
        const int fault = read(r0, r1, local.entries);
        const Entries& e = local.entries;
        local.logs.resize(e.start[r1 - r0]);
        double* logs = local.logs.get();
        for (i64 i = r0; i < r1; ++i) {
            const double* mine = part + taken.own[i] * d;
            for (i64 p = e.start[i - r0]; p < e.start[i - r0 + 1]; ++p)
                logs[p] = rest_of(mine[e.index[p]], taken.weight[i] * e.value[p]) +
                          alpha.at(e.index[p]);
        }
        loops.logs(e.start[r1 - r0], logs);
        for (i64 i = r0; i < r1; ++i) {
            double sum = 0.0, x = 0.0;
            for (i64 p = e.start[i - r0]; p < e.start[i - r0 + 1]; ++p)
                sum += e.value[p] * logs[p], x += e.value[p];
            score[i] = sum, length[i] = x;
        }
        return fault;
    });
}

// score = Σ log(present[own, j] − w + yes_j) − log(absent[own, j] − w + no_j) over the features that
// a row has; ruled = how many of the subtrahends are log 0, which are left out.
inline int presence_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                            const double* present, const double* absent, i64 d, Smoothing yes,
                            Smoothing no, double* score, double* ruled, int threads) {
    need_classes(taken);
    threads = threads_for(work * 8, (taken.n + WITHOUT_ROWS - 1) / WITHOUT_ROWS, threads);
    struct Local {
        Entries entries;
        Buffer<double> logs;
    };
    std::vector<Local> locals(threads);
    return each_chunk(taken.n, WITHOUT_ROWS, threads, [&](i64 r0, i64 r1, int thread) {
        Local& local = locals[thread];
        const int fault = read(r0, r1, local.entries);
        const Entries& e = local.entries;
        const i64 n = e.start[r1 - r0];
        local.logs.resize(2 * n);
        double *there = local.logs.get(), *gone = there + n;
        for (i64 i = r0; i < r1; ++i) {
            const i64 row = taken.own[i] * d;
            for (i64 p = e.start[i - r0]; p < e.start[i - r0 + 1]; ++p) {
                const i64 j = e.index[p];
                there[p] = rest_of(present[row + j], taken.weight[i]) + yes.at(j);
                gone[p] = rest_of(absent[row + j], taken.weight[i]) + no.at(j);
            }
        }
        loops.logs(2 * n, there);
        for (i64 i = r0; i < r1; ++i) {
            double sum = 0.0, out = 0.0;
            for (i64 p = e.start[i - r0]; p < e.start[i - r0 + 1]; ++p) {
                const bool never = gone[p] == NEVER;
                sum += there[p] - (never ? 0.0 : gone[p]), out += never;
            }
            score[i] = sum, ruled[i] = out;
        }
        return fault;
    });
}

// ---- Σ_j log(v[own, j] − w + α_j) over all columns ---------------------------------------------
// A column of much more weight than any row of the class adds log A + log(1 − w/A), A = v + α, whose
// series is summed over such columns once; only the others are visited for each row.
class ShiftedLogs {
public:
    void read(const Loops& loops, const double* v, i64 d, Smoothing alpha, double heaviest) {
        heaviest_ = heaviest, base_ = 0.0;
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
            const double a = v[j] + alpha.at(j);
            if (!(a > 0.0 && a >= MUCH * heaviest)) {  // and columns that are alike as one
                const bool again = !few_.empty() && few_.back().v == v[j] && few_.back().a == alpha.at(j);
                if (again)
                    few_.back().times += 1.0;
                else
                    few_.push_back({v[j], alpha.at(j), 1.0});
                continue;
            }
            logs[n++] = a;
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
            const double rest = rest_of(few.v, w) + few.a;
            if (rest == 0.0)
                zeros += few.times;
            else
                total += few.times * std::log(rest);
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
    double heaviest_ = 0.0, base_ = 0.0, moment_[TERMS];
    std::vector<Few> few_;
};

// sum[i] += sign·Σ_j log(v[own, j] − w + α_j) without the terms log 0, zeros[i] += their number.
inline void shifted_logs(const Loops& loops, const Taken& taken, const double* v, i64 d,
                         Smoothing alpha, double sign, double* sum, double* zeros, int threads) {
    need_classes(taken);
    std::vector<double> heaviest(taken.classes, -1.0);
    for (i64 i = 0; i < taken.n; ++i) {
        const double w = std::fabs(taken.weight[i]);
        if (w > heaviest[taken.own[i]]) heaviest[taken.own[i]] = w;
    }
    std::vector<ShiftedLogs> logs(taken.classes);
    run_tasks(taken.classes, threads_for(taken.classes * d * 8, taken.classes, threads),
              [&](i64 k, int) {
                  if (heaviest[k] >= 0.0) logs[k].read(loops, v + k * d, d, alpha, heaviest[k]);
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
                       double top = NEVER, total = 0.0;
                       for (i64 k = 0; k < K; ++k) {
                           row[k] += prior(k);
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
