// How well the smoothed counts of a column predict the classes of its rows.
#pragma once
#include <algorithm>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

// Σ over rows of log[(C_vk − r_vk + a·p_k) / ((m_v − r_vk + a)·p_k)], each row left out of the counts C
// of its cell v and of m_v = Σ_k C_vk: by `kernels` ways of summing counts over neighbouring cells, and
// strengths a. r is what leaving a row out takes, at most all that its cell and class hold.
struct TableRows {
    const double *counts, *removed;  // (cells, classes): rows, and r
    const double* p;                 // (classes,)
    i64 cells, classes;
};

// summed (kernels, cells, classes) holds C; gains (kernels, strengths).
inline void table_gains(const Loops& loops, const TableRows& rows, const double* summed, i64 kernels,
                        const double* strength, i64 strengths, double* gains) {
    constexpr i64 LANES = 8;  // sums of every eighth number: their order is the same on every machine
    const i64 K = rows.classes;
    std::vector<i64> at;
    std::vector<double> weight, one, part, whole, ratio;
    for (i64 i = 0; i < rows.cells * K; ++i)
        if (rows.counts[i] > 0.0) {
            at.push_back(i);
            weight.push_back(rows.counts[i]);
            one.push_back(std::min(rows.counts[i], rows.removed[i]));
        }
    const i64 n = static_cast<i64>(at.size());
    part.resize(n), whole.resize(n), ratio.resize(n);
    for (i64 j = 0; j < kernels; ++j) {
        const double* C = summed + j * rows.cells * K;
        for (i64 e = 0; e < n; ++e) {
            const i64 k = at[e] % K, first = at[e] - k;
            double m = 0.0;
            for (i64 c = first; c < first + K; ++c) m += C[c];
            part[e] = std::max(C[at[e]] - one[e], 0.0) / rows.p[k];
            whole[e] = std::max(m - one[e], 0.0);
        }
        for (i64 s = 0; s < strengths; ++s) {
            const double a = strength[s];
            for (i64 e = 0; e < n; ++e) ratio[e] = (part[e] + a) / (whole[e] + a);
            loops.logs(n, ratio.data());
            double sums[LANES] = {};
            for (i64 e = 0; e < n; ++e) sums[e % LANES] += weight[e] * ratio[e];
            double total = 0.0;
            for (const double sum : sums) total += sum;
            gains[j * strengths + s] = total;
        }
    }
}

}  // namespace tb
