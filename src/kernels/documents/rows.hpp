// Documents as rows of term numbers and values, and a table that holds a few classes of each term.
#pragma once
#include <vector>

#include "core/parallel.hpp"
#include "core/view.hpp"

namespace tb {

struct DocumentRows {  // CSR: the terms of document i are indptr[i] … indptr[i + 1] − 1
    const i64* indptr;
    const i32* terms;
    const float* values;  // tf = log(1 + count)
    i64 n;
    i64 entries() const { return indptr[n] - indptr[0]; }
};

struct TermPairs {  // of each term the classes that hold it: start[t] … start[t + 1] − 1, by class
    const i64* start;
    const i32* classes;
    i64 terms;
};

constexpr i64 DOCUMENTS = 64;  // a task

// each(i, room) for each document, room for so many numbers, which begin as 0.
template <class Each>
void each_document(const DocumentRows& x, i64 numbers, i64 work, int allowed, const Each& each) {
    const i64 tasks = (x.n + DOCUMENTS - 1) / DOCUMENTS;
    const int threads = threads_for(work, tasks, allowed);
    std::vector<Buffer<double>> rooms(threads);
    for (auto& room : rooms) room.resize(numbers);
    run_tasks(tasks, threads, [&](i64 task, int thread) {
        double* room = rooms[thread].get();
        const i64 end = (task + 1) * DOCUMENTS < x.n ? (task + 1) * DOCUMENTS : x.n;
        for (i64 i = task * DOCUMENTS; i < end; ++i) {
            for (i64 c = 0; c < numbers; ++c) room[c] = 0.0;
            each(i, room);
        }
    });
}

inline void add_scaled(double* to, const double* row, double by, i64 n) {
    for (i64 k = 0; k < n; ++k) to[k] += by * row[k];
}

// ---- hashes -------------------------------------------------------------------------------------
// A hash of the terms of each document and their counts: the sum of a random number for each pair
// (tabulation hashing), in any order of the terms.

constexpr u64 COUNT_STRIDE = u64(1) << 40;  // terms are below it: cells are distinct

inline u64 finalized(u64 key) {  // of SplitMix64, as in engines/contract.py
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ul;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBul;
    return key ^ (key >> 31);
}

// terms and counts are 0 or more; salt is added to each cell
inline void document_hashes(const i64* indptr, const i32* terms, const i32* counts, i64 n, u64 salt,
                            u64* out, int threads) {
    run_rows(n, DOCUMENTS, indptr[n] - indptr[0], threads, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
            u64 sum = 0;
            for (i64 p = indptr[i]; p < indptr[i + 1]; ++p)
                sum += finalized(static_cast<u64>(terms[p]) + COUNT_STRIDE * static_cast<u64>(counts[p]) +
                                 salt);
            out[i] = sum;
        }
    });
}

}  // namespace tb
