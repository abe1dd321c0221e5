// The rows of a column of numbers by class and cell, as its candidates are scored from them.
#pragma once
#include <algorithm>
#include <vector>

#include "core/view.hpp"
#include "simd/loop_table.hpp"

namespace tb {

struct GridColumn {
    const double* counts;  // (classes, cells)
    i64 cells;
};

struct ClassRows {
    i64 classes;
    const double* prior;  // (classes,): smoothed class counts
    const double* row;    // (classes,): the weight of a row
    double unit;          // and of a row of any class

    // what is taken out of a cell
    double one(i64 k, double weight) const { return std::min(weight, row[k]); }
};

inline double what_is_left(double whole, double part) {
    const double rest = whole - part;
    return rest <= RESIDUE * whole ? 0.0 : rest;
}

// The cells of a column that hold rows of a class, class by class.
struct UsedCells {
    std::vector<i32> cell, of;  // the class of each
    std::vector<double> weight;
    std::vector<i64> start;      // (classes + 1,)
    std::vector<double> rows;    // of each class
    double everyone = 0.0;
    i64 size() const { return static_cast<i64>(cell.size()); }

    // makes room for so many entries
    void clear(i64 classes, i64 most) {
        cell.resize(static_cast<std::size_t>(most)), of.resize(cell.size()), weight.resize(cell.size());
        start.assign(static_cast<std::size_t>(classes) + 1, 0);
        rows.assign(static_cast<std::size_t>(classes), 0.0);
        everyone = 0.0;
    }
    void close(i64 entries) {
        const std::size_t n = static_cast<std::size_t>(entries);
        cell.resize(n), of.resize(n), weight.resize(n);
        for (double w : rows) everyone += w;
    }
    void read(const GridColumn& column, i64 classes) {
        const i64 n = classes * column.cells;
        const double* w = column.counts;
        i64 e = 0;
        for (i64 i = 0; i < n; ++i) e += w[i] > 0.0;
        clear(classes, e + 1), e = 0;  // one more: each entry is written, and kept where it has rows
        for (i64 k = 0; k < classes; ++k, w += column.cells) {
            for (i64 a = 0; a < column.cells; ++a) {
                cell[e] = static_cast<i32>(a), of[e] = static_cast<i32>(k), weight[e] = w[a];
                e += w[a] > 0.0;
            }
            start[k + 1] = e;
        }
        for (i64 i = 0; i < e; ++i) rows[of[i]] += weight[i];
        close(e);
    }
    // The same rows in coarser cells; bin (cells of `fine`) ascends.
    void join(const UsedCells& fine, const i32* bin) {
        clear(static_cast<i64>(fine.rows.size()), fine.size());
        rows = fine.rows;
        i64 n = 0;
        i32 last = -1, k = -1;
        double sum = 0.0;
        for (i64 e = 0; e < fine.size(); ++e) {
            const i32 b = bin[fine.cell[e]];
            const bool again = b == last && fine.of[e] == k;
            n += !again;
            sum = (again ? sum : 0.0) + fine.weight[e];
            weight[n - 1] = sum;
            cell[n - 1] = last = b, of[n - 1] = k = fine.of[e];
            start[k + 1] = n;
        }
        for (std::size_t i = 1; i < start.size(); ++i) start[i] = std::max(start[i], start[i - 1]);
        close(n);
    }
};

// Candidates of cells: bins with additive smoothing, and a density that spreads the counts of fine
// bins. Both are (k_ca + S q_a) / (n_c + S); a class without rows has those of all classes.
struct CellCandidates {
    std::vector<i64> sizes;
    double pseudo;  // rows that each bin is given
    i64 fine;
    std::vector<i64> widths;
    std::vector<double> strengths;  // S
};

// Σ w log ratio; the logarithms take the place of the ratios
inline double log_likelihood(const Loops& loops, const UsedCells& used, std::vector<double>& ratio) {
    loops.logs(used.size(), ratio.data());
    double total = 0.0;
    for (i64 e = 0; e < used.size(); ++e) total += used.weight[e] * ratio[e];
    return total;
}

// rows of each cell, added to those given
inline void sum_rows(const UsedCells& used, std::vector<double>& rows) {
    for (i64 e = 0; e < used.size(); ++e) rows[used.cell[e]] += used.weight[e];
}

}  // namespace tb
