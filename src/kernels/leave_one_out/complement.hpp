// Complement naive Bayes without a row: the complements of the classes that it is not of lose it.
//   −Σ_j x_j·u_j,  u_j = log(rest_j) − log(Σ_j rest_j),  rest_j = part[c, j] − w·x_j + α_j,
// divided by −Σ_j u_j with `norm`; in the row's own class w is 0.
#pragma once
#include "leave_one_out/counts.hpp"

namespace tb {

struct Complements {
    const LaneTable* lanes;  // part, with classes as lanes
    const double* part;      // (classes, d): what all other classes have of each feature
    const double* total;     // (classes,): Σ_j part
    const double* everything;  // (d,): what all classes have
    const double *log_sum, *present;  // (classes,): Σ log(part + α) where that is above 0, how many
    Smoothing alpha;
    double alpha_sum;
    bool norm;
    bool zeros, large;  // numbers may be too small, or are too large, for a product of them
    i64 d;
};

// Σ x·u / Σ u over the `count` features that a complement has, Σ u = sum − count·whole. One feature
// alone has u = 0, two or more have Σ u ≤ −2 log 2.
inline double normed(double raw, double sum, double count, double whole) {
    return count > 1.0 ? raw / (sum - count * whole) : 0.0;
}

// One row entry by entry, where a complement may be left without a feature (α = 0): a feature that
// class c alone has rules the others out and says nothing about c.
inline void complement_by_entry(const Complements& m, const Entries& e, i64 row, i64 own, double w,
                                double length, double* scores) {
    const i64 K = m.lanes->classes;
    for (i64 k = 0; k < K; ++k) {
        double raw = 0.0, sum = m.log_sum[k], count = m.present[k];
        bool out = false;
        const double taken = k == own ? 0.0 : w;
        const double whole = rest_of(m.total[k], taken * length) + m.alpha_sum;
        for (i64 p = e.start[row]; p < e.start[row + 1]; ++p) {
            const i64 j = e.index[p];
            const double x = e.value[p], a = m.alpha.at(j);
            const double before = m.part[k * m.d + j] + a;
            const double rest = rest_of(m.part[k * m.d + j], taken * x) + a;
            if (rest > 0.0) {
                raw += x * (std::log(rest) - std::log(whole));
                sum += std::log(rest) - std::log(before);
            } else if (before > 0.0) {
                sum -= std::log(before), count -= 1.0;
            }
            if (a > 0.0 || rest == 0.0 || rest_of(m.everything[j], w * x) == 0.0) continue;
            for (i64 c = 0; c < K; ++c) {  // whether some class has it alone, and not everything
                const double its = c == own ? 0.0 : w;
                out |= rest_of(m.part[c * m.d + j], its * x) == 0.0 &&
                       rest_of(m.total[c], its * length) + m.alpha_sum > 0.0;
            }
        }
        if (whole == 0.0) raw = -length * std::log(static_cast<double>(m.d));
        if (m.norm) {
            const double all = static_cast<double>(m.d);
            raw = whole == 0.0 ? normed(raw, 0.0, all, std::log(all))
                               : normed(raw, sum, count, std::log(whole));
        } else {
            raw = -raw;
        }
        scores[k] = out ? NEVER : raw;
    }
}

// Scores (n, classes) of rows, each without itself; the complement of its own class does not hold it.
inline int complement_without(const Loops& loops, const ReadRows& read, i64 work, const Taken& taken,
                              const Complements& m, double* scores, int threads) {
    need_classes(taken);
    const LaneTable& lanes = *m.lanes;
    const i64 K = lanes.classes, width = lanes.width;
    // a block of a wide table is used for many rows before the next one is fetched
    const i64 rows = lanes.blocks == 1 ? 64 : rows_at_once(taken.n, work);
    struct alignas(APART) Local {
        Entries entries;
        Buffer<double> raw, ratio, whole, length;
        Buffer<i32> lane;
        Buffer<unsigned char> odd, redo;
    };
    threads = threads_for(work * K, (taken.n + rows - 1) / rows, threads);
    std::vector<Local> locals(threads);
    return each_chunk(taken.n, rows, threads, [&](i64 r0, i64 r1, int thread) {
        Local& t = locals[thread];
        const i64 n = r1 - r0;
        const int fault = read(r0, r1, t.entries);
        const EntryRows entries{n, t.entries.start.get(), t.entries.index.get(),
                                t.entries.value.get(), taken.weight + r0};
        t.raw.resize(n * width), t.ratio.resize(n * width), t.whole.resize(n * width);
        t.length.resize(n), t.lane.resize(n), t.odd.resize(n), t.redo.resize(n);
        for (i64 i = 0; i < n; ++i) {
            double length = 0.0;
            for (i64 p = entries.start[i]; p < entries.start[i + 1]; ++p) length += entries.value[p];
            t.length[i] = length, t.redo[i] = 0;
        }
        for (i64 b = 0; b < lanes.blocks; ++b) {
            const i64 k0 = b * width, used = K - k0 < width ? K - k0 : width;
            for (i64 i = 0; i < n; ++i) t.lane[i] = static_cast<i32>(taken.own[r0 + i] - k0);
            loops.complement(lanes.vectors(), m.norm, m.zeros, entries, t.lane.get(), static_cast<int>(used),
                             lanes.block(b), m.alpha.value, m.alpha.step, t.raw.get(),
                             t.ratio.get(), t.odd.get());
            for (i64 i = 0; i < n; ++i) {
                const double out = taken.weight[r0 + i] * t.length[i];
                for (i64 k = 0; k < used; ++k)
                    t.whole[i * width + k] =
                        rest_of(m.total[k0 + k], k == t.lane[i] ? 0.0 : out) + m.alpha_sum;
                for (i64 k = used; k < width; ++k) t.whole[i * width + k] = 1.0;
            }
            loops.logs(n * width, t.whole.get());
            for (i64 i = 0; i < n; ++i) {
                double* to = scores + (r0 + i) * K + k0;
                t.redo[i] |= t.odd[i] | m.large;
                for (i64 k = 0; k < used; ++k) {
                    const double whole = t.whole[i * width + k];
                    t.redo[i] |= whole == NEVER;
                    const double raw = t.raw[i * width + k] - t.length[i] * whole;
                    if (m.norm) {
                        to[k] = normed(raw, m.log_sum[k0 + k] + t.ratio[i * width + k],
                                       m.present[k0 + k], whole);
                    } else {
                        to[k] = -raw;
                    }
                }
            }
        }
        for (i64 i = 0; i < n; ++i)
            if (t.redo[i])
                complement_by_entry(m, t.entries, i, taken.own[r0 + i], taken.weight[r0 + i],
                                    t.length[i], scores + (r0 + i) * K);
        return fault;
    });
}

}  // namespace tb
