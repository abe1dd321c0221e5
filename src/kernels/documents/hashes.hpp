// A hash of the terms of each document and their counts: the sum of a random number for each pair
// (tabulation hashing), in any order of the terms.
#pragma once
#include "documents/csr.hpp"

namespace tb {

constexpr u64 COUNT_STRIDE = u64(1) << 40;  // terms are below it: cells are distinct

inline u64 finalized(u64 key) {  // of SplitMix64, as in engines/contract.py
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ul;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBul;
    return key ^ (key >> 31);
}

// terms and counts are 0 or more; salt is added to each cell
inline void document_hashes(const i64* indptr, const i32* terms, const i32* counts, i64 n, u64 salt,
                            u64* out, int threads) {
    const i64 tasks = (n + DOCUMENTS - 1) / DOCUMENTS;
    run_tasks(tasks, threads_for(indptr[n] - indptr[0], tasks, threads), [&](i64 t, int) {
        const i64 end = (t + 1) * DOCUMENTS < n ? (t + 1) * DOCUMENTS : n;
        for (i64 i = t * DOCUMENTS; i < end; ++i) {
            u64 sum = 0;
            for (i64 p = indptr[i]; p < indptr[i + 1]; ++p)
                sum += finalized(static_cast<u64>(terms[p]) + COUNT_STRIDE * static_cast<u64>(counts[p]) +
                                 salt);
            out[i] = sum;
        }
    });
}

}  // namespace tb
