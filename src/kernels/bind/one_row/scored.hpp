// What the scorer of single rows holds of columns, groups and pairs of columns.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bind/one_row/values.hpp"
#include "score/triangular.hpp"

namespace tb {

struct ScoredColumn {
    nb::object name;
    enum Kind { levels, bins, quadratic, pooled, function } kind = function;
    nb::dict entry;              // text → entry of the table; of numbers, the strings beside them
    nb::dict numbers;            // levels: the same of numbers among booleans, before those
    i64 unseen = 0;              // levels: the entry of a string it does not hold, −1 to refuse
    std::vector<double> edges;   // bins
    std::vector<double> table;   // levels and bins: (entries, classes), entry 0 the missing value;
                                 // function: (counts, classes), what 0, 1, … say
    std::vector<double> beside;  // densities: (entries, classes): missing, a number, strings
    std::vector<double> constant, slope, mean, scale, missing;  // densities: (classes,) each
    std::vector<double> low, high, shift, there;  // pooled: of atoms, and (classes,) each
    double share = 0.0;          // pooled
    nb::object call;             // function
    int least = ANY;             // what its numbers may be
    bool dates = false;          // whether its numbers are dates
    bool watched = false;        // whether an odd value of it is to be warned of
    i64 at = 0;                  // levels and bins: the entry of the last row
};

struct ScoredGroup {  // columns that are scored together
    std::vector<ScoredColumn> members;
    std::vector<double> mean, rotation, constant, freedom, row;
    nb::object call;  // of rows with missing values, NaN
    i64 classes = 0;

    Triangular terms() const {
        return {mean.data(), rotation.data(), constant.data(),
                freedom.empty() ? nullptr : freedom.data(), classes,
                static_cast<i64>(members.size())};
    }
};

// Two columns of levels or bins, of which entries together have scores.
struct ScoredPair {
    std::size_t first, second;
    std::vector<std::int32_t> coarser_first, coarser_second;  // of each entry; −1 for none
    std::vector<double> table;                                // (joint entries, classes)
    i64 width = 0;                                            // coarser entries of the second
};

}  // namespace tb
