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
};

struct TermPairs {  // of each term the classes that hold it: start[t] … start[t + 1] − 1, by class
    const i64* start;
    const i32* classes;
    i64 terms;
};

constexpr i64 DOCUMENTS = 64;  // a task

inline void add_scaled(double* to, const double* row, double by, i64 n) {
    for (i64 k = 0; k < n; ++k) to[k] += by * row[k];
}

}  // namespace tb
