// What the counter of single rows holds of columns and of groups of columns.
#pragma once
#include <nanobind/nanobind.h>

#include <limits>
#include <vector>

#include "bind/one_row/values.hpp"
#include "count/cross.hpp"
#include "count/grid.hpp"
#include "count/moments.hpp"

namespace tb {

struct ClassMoments {
    double n = 0, n_lo = 0, s1_hi = 0, s1_lo = 0, s2_hi = 0, s2_lo = 0;
    void add(double x, double origin, double w) {
        add_exactly(n, n_lo, w);
        const Double2 delta = exact_sum(x, -origin), weighted = delta * Double2{w, 0.0};
        const Double2 a = Double2{s1_hi, s1_lo} + weighted;
        const Double2 b = Double2{s2_hi, s2_lo} + weighted * delta;
        s1_hi = a.hi, s1_lo = a.lo, s2_hi = b.hi, s2_lo = b.lo;
    }
    // The sum of squares about the mean.
    double squares() const {
        if (!(n > 0.0)) return 0.0;
        const Double2 mean = Double2{s1_hi, s1_lo} / Double2{n, n_lo};
        return (Double2{s2_hi, s2_lo} + -(mean * Double2{s1_hi, s1_lo})).hi;
    }
};

// Whether a count can lose `w` without a look at what rounding has left: whole rows are left, or none.
inline bool can_lose(double held, double w) { return held == w || held - w >= 0x1p-30 * held; }

struct CountedColumn {
    nb::object name;
    int holds;
    int least = ANY;       // what its numbers may be
    int dates = UNKNOWN;   // whether its values are dates
    std::size_t most = std::numeric_limits<std::size_t>::max();  // how many levels it may have
    // strings: the count of each level in each class
    nb::dict rank;
    std::vector<nb::object> levels;
    std::vector<std::vector<double>> counts;  // [level][class]
    // numbers
    bool started = false;
    double origin = 0.0, largest = 0.0;  // largest: of the sums of squares held at any time
    std::vector<ClassMoments> moments;   // [class]
    std::vector<GridTable> grids;        // [class]
};

// Columns whose products are counted, too, of rows that have all of them.
struct CountedGroup {
    struct ClassTotals {
        Double2 n{0.0, 0.0};
        std::vector<Double2> s1, s2;
    };
    std::vector<std::size_t> members;
    bool started = false, whole = false;  // whether the row being read has every member
    std::vector<double> origin, row;
    std::vector<Double2> delta;
    std::vector<ClassTotals> totals;  // [class]

    i64 size() const { return static_cast<i64>(members.size()); }
    void add(std::size_t k, double w) {
        if (!started) started = true, origin = row;
        while (totals.size() <= k) {
            totals.emplace_back();
            totals.back().s1.assign(members.size(), Double2{0.0, 0.0});
            totals.back().s2.assign(static_cast<std::size_t>(pairs_of(size())), Double2{0.0, 0.0});
        }
        ClassTotals& t = totals[k];
        add_cross_row(row.data(), w, origin.data(), size(), delta.data(), t.n, t.s1.data(),
                      t.s2.data());
    }
};

}  // namespace tb
