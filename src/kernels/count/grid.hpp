// Counting numbers on a grid that no data chooses: the float's own bits.
//
// A cell holds the values that share sign, exponent and the leading bits of the mantissa; `shift` is
// how many trailing bits are dropped. Dropping a bit joins two neighbouring cells, so it commutes with
// adding, and the finest grid that fits a budget of cells is the same in any order of the rows.
#pragma once
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/view.hpp"

namespace tb {

constexpr i64 EMPTY = std::numeric_limits<i64>::min();  // no double has this key

inline i64 bits_of(double x) {
    i64 bits;
    std::memcpy(&bits, &x, 8);
    return bits;
}

// Keys order as the values do; −0 is 0.
inline i64 grid_key(double x, int shift) {
    const i64 bits = bits_of(x), magnitude = bits & std::numeric_limits<i64>::max();
    return bits < 0 && magnitude ? -(magnitude >> shift) - 1 : magnitude >> shift;
}

// The key of a cell after `by` more bits are dropped.
inline i64 coarser_key(i64 key, int by) { return key < 0 ? -((-key - 1) >> by) - 1 : key >> by; }

class GridTable {
public:
    GridTable(i64 classes, i64 budget, int shift) : shift(shift), classes_(classes), budget_(budget) {
        rehash(256);
    }
    void add(double x, i64 k, double w) {
        i64 cell = find(grid_key(x, shift));
        while (cell < 0) {
            if (static_cast<i64>(keys.size()) < budget_) {
                cell = insert(grid_key(x, shift));
            } else {
                coarsen();
                cell = find(grid_key(x, shift));
            }
        }
        counts[static_cast<std::size_t>(cell * classes_ + k)] += w;
    }

    // what the cell of a value holds of a class
    double held(double x, i64 k) const {
        const i64 cell = find(grid_key(x, shift));
        return cell < 0 ? 0.0 : counts[static_cast<std::size_t>(cell * classes_ + k)];
    }
    // a cell by its key on this grid, which it does not have yet
    void hold(i64 key, i64 k, double count) {
        counts[static_cast<std::size_t>(insert(key) * classes_ + k)] = count;
    }

    int shift;
    std::vector<i64> keys;       // in order of appearance
    std::vector<double> counts;  // (cells, classes)

private:
    // Fibonacci hashing: the top bits of the product depend on all bits of the key
    u64 home(i64 key) const { return (static_cast<u64>(key) * 0x9E3779B97F4A7C15ul) >> top_; }
    i64 find(i64 key) const {
        for (u64 at = home(key);; at = (at + 1) & mask_) {
            if (slots_[at] < 0) return -1;
            if (keys[static_cast<std::size_t>(slots_[at])] == key) return slots_[at];
        }
    }
    i64 insert(i64 key) {
        if (2 * (keys.size() + 1) > slots_.size()) rehash(2 * slots_.size());
        const i64 cell = static_cast<i64>(keys.size());
        keys.push_back(key);
        counts.resize(counts.size() + static_cast<std::size_t>(classes_), 0.0);
        place(cell);
        return cell;
    }
    void place(i64 cell) {
        u64 at = home(keys[static_cast<std::size_t>(cell)]);
        while (slots_[at] >= 0) at = (at + 1) & mask_;
        slots_[at] = static_cast<i32>(cell);
    }
    void rehash(std::size_t size) {
        slots_.assign(size, -1);
        mask_ = size - 1;
        for (top_ = 64; size > 1; size /= 2) --top_;
        for (i64 cell = 0; cell < static_cast<i64>(keys.size()); ++cell) place(cell);
    }
    void coarsen() {
        std::vector<i64> old_keys;
        std::vector<double> old_counts;
        old_keys.swap(keys), old_counts.swap(counts);
        ++shift;
        slots_.assign(slots_.size(), -1);
        for (std::size_t i = 0; i < old_keys.size(); ++i) {
            const i64 key = coarser_key(old_keys[i], 1);
            i64 cell = find(key);
            if (cell < 0) cell = insert(key);
            for (i64 k = 0; k < classes_; ++k)
                counts[static_cast<std::size_t>(cell * classes_ + k)] +=
                    old_counts[i * static_cast<std::size_t>(classes_) + static_cast<std::size_t>(k)];
        }
    }

    i64 classes_, budget_;
    std::vector<i32> slots_;
    u64 mask_ = 0;
    int top_ = 64;
};

// Counts one column; NaN is left out. Returns the fault of its values.
template <class T>
int count_grid(const TypedMatrix<T>& x, const i32* codes, const double* weights, i64 classes,
               GridTable& table) {
    int fault = FINE;
    for (i64 i = 0; i < x.n; ++i) {
        const double value = static_cast<double>(*x.at(i, 0));
        if (value != value) continue;
        if (!is_finite(value)) {
            fault |= NOT_FINITE;
            continue;
        }
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
        const double w = weights ? weights[i] : 1.0;
        if (w != 0.0) table.add(value, codes[i], w);
    }
    return fault;
}

}  // namespace tb
