// Columns of length-normalised tf-idf, and X Xᵀ D with them.
//
// The coefficients of a ridge are combinations of documents, U = Xᵀ A, so a descent needs no more
// than X Xᵀ D; simd/loops_documents.hpp multiplies.
#pragma once
#include <cmath>

#include "documents/rows.hpp"
#include "simd/loop_table.hpp"

namespace tb {

// x_ij = tf·idf / |row|, |row| of all terms; column[t] is that of a term, or −1. Fills documents and
// values by start.
inline void tfidf_columns(const DocumentRows& x, const i32* column, const double* idf,
                          const i64* start, i64 columns, i32* documents, float* values) {
    std::vector<i64> next(start, start + columns);
    for (i64 i = 0; i < x.n; ++i) {
        double squares = 0.0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const double v = static_cast<double>(x.values[p]) * idf[x.terms[p]];
            squares += v * v;
        }
        const double by = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; ++p) {
            const i64 t = x.terms[p];
            if (column[t] < 0) continue;
            i64& at = next[column[t]];
            documents[at] = static_cast<i32>(i);
            values[at++] = static_cast<float>(static_cast<double>(x.values[p]) * idf[t] * by);
        }
    }
}

// Tasks of about equally many entries: their first columns. Each of them adds to numbers of all
// documents, so that there are few where documents are short.
inline std::vector<i64> column_tasks(const TermColumns& x) {
    constexpr i64 FEWEST = 4, MOST = 16;  // whatever the threads: results are added in this order
    constexpr i64 ENTRIES = 32;           // of a document, in the columns of a task
    const i64 entries = x.start[x.columns];
    const i64 tasks = std::min(MOST, std::max(FEWEST, entries / (ENTRIES * x.n + 1)));
    std::vector<i64> first{0};
    for (i64 task = 1; task < tasks; ++task) {
        i64 j = first.back();
        while (j < x.columns && x.start[j] < entries / tasks * task) ++j;
        if (j > first.back()) first.push_back(j);
    }
    if (x.columns > first.back()) first.push_back(x.columns);
    return first;
}

// F = X Xᵀ D, both (n, C).
inline void gram_times(const Loops& loops, const TermColumns& x, const float* D, i64 C, float* F,
                       int threads) {
    const std::vector<i64> first = column_tasks(x);
    const i64 tasks = static_cast<i64>(first.size()) - 1, cells = x.n * C;
    for (i64 i = 0; i < cells; ++i) F[i] = 0.0f;
    threads = threads_for(x.start[x.columns] * C, tasks, threads);
    std::vector<Buffer<float>> locals(threads);
    run_in_order(
        tasks, threads,
        [&](i64 task, int thread) {
            locals[thread].resize(cells);
            float* local = locals[thread].get();
            for (i64 i = 0; i < cells; ++i) local[i] = 0.0f;
            loops.gram_of_columns(x, first[task], first[task + 1], D, C, local);
        },
        [&](i64, int thread) {
            const float* local = locals[thread].get();
            for (i64 i = 0; i < cells; ++i) F[i] += local[i];
        });
}

// U = Xᵀ A, (columns, C).
inline void columns_times(const Loops& loops, const TermColumns& x, const float* A, i64 C, float* U,
                          int threads) {
    const std::vector<i64> first = column_tasks(x);
    const i64 tasks = static_cast<i64>(first.size()) - 1;
    run_tasks(tasks, threads_for(x.start[x.columns] * C, tasks, threads), [&](i64 task, int) {
        loops.times_columns(x, first[task], first[task + 1], A, C, U);
    });
}

}  // namespace tb
