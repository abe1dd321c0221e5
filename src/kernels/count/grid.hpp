// Counting numbers on a grid that no data chooses: the float's own bits.
//
// A cell holds the values that share sign, exponent and the leading bits of the mantissa; `shift` is
// how many trailing bits are dropped. Dropping a bit joins two neighbouring cells, so it commutes with
// adding, and the finest grid that fits a budget of cells is the same in any order of the rows.
#pragma once
#include <algorithm>
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

// The key of a cell after `by` more bits are dropped; the shift of negative numbers rounds down.
inline i64 coarser_key(i64 key, int by) { return key >> by; }

// How many bits keys have to lose, one at least, until no more than `most` of them differ.
inline int bits_to_drop(std::vector<i64> keys, i64 most) {
    std::sort(keys.begin(), keys.end());
    i64 joined_by[65] = {};  // neighbours by how many bits they have to lose to be one
    for (std::size_t i = 1; i < keys.size(); ++i) {
        int bits = 0;
        for (u64 differ = static_cast<u64>(keys[i] ^ keys[i - 1]); differ; differ >>= 1) ++bits;
        ++joined_by[bits];
    }
    int by = 1;
    for (i64 cells = static_cast<i64>(keys.size()) - joined_by[0] - joined_by[1];
         cells > most && by < 64; cells -= joined_by[by])
        ++by;
    return by;
}

class GridTable {
public:
    GridTable(i64 classes, i64 budget, int shift) : shift(shift), classes_(classes), budget_(budget) {
        rehash(256);
    }
    void add(double x, i64 k, double w) {
        i64 cell = find(grid_key(x, shift));
        while (cell < 0) {
            const i64 key = grid_key(x, shift);
            if (static_cast<i64>(keys.size()) < budget_) {
                cell = insert(key);
            } else {
                coarsen(key);
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
    // Makes room for one more key. The first time that takes many bits, later mostly one.
    void coarsen(i64 key_of_next) {
        int by = 1;
        if (!coarsened_) {
            std::vector<i64> all = keys;
            all.push_back(key_of_next);
            by = bits_to_drop(std::move(all), budget_);
        }
        coarsened_ = true;
        std::vector<i64> old_keys;
        std::vector<double> old_counts;
        old_keys.swap(keys), old_counts.swap(counts);
        shift += by;
        slots_.assign(slots_.size(), -1);
        for (std::size_t i = 0; i < old_keys.size(); ++i) {
            const i64 key = coarser_key(old_keys[i], by);
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
    bool coarsened_ = false;
};

// Finds cells of a table by their place between the least and the largest of its keys, where these
// are not far apart: one load without a comparison, where the table has to compare keys.
//
// The place of a value is its magnitude without trailing bits that are 0 in all keys (whole numbers
// have many), less the least; 0 and the two signs have places of their own.
class GridWindow {
public:
    static constexpr u64 PLACES = 1 << 16;

    explicit GridWindow(const GridTable& table) : table_(table) {}

    // Takes over the cells of the table, where the window is not up to date.
    bool fits() {
        const i64 cells = static_cast<i64>(table_.keys.size());
        if (table_.shift != shift_) {
            open_ = false, again_ = 0;
        } else if (open_) {
            while (seen_ < cells && place(seen_)) ++seen_;
            if (seen_ == cells) return true;
            open_ = false, again_ = cells;
        }
        if (!open_ && cells >= again_ && cells > 0) lay_out(cells);
        return open_;
    }
    // The places of n values; those outside of the window share one that has no cell.
    template <class T>
    void find(const T* x, i64 stride, i64 n, i32* at) const {
        for (i64 i = 0; i < n; ++i) {
            const i64 bits = bits_of(static_cast<double>(x[i * stride]));
            at[i] = place_of(bits & std::numeric_limits<i64>::max(), bits < 0);
        }
    }
    i64 cell(i32 at) const { return slots_[at]; }

private:
    i32 place_of(i64 magnitude, bool negative) const {
        const u64 beyond = static_cast<u64>(magnitude >> drop_) - base_;
        const u64 outside = 2 * size_ + 1;
        u64 at = 2 * beyond + negative;
        at = ((beyond >= size_) | ((magnitude & odd_) != 0)) ? outside : at;
        return static_cast<i32>(magnitude == 0 ? 2 * size_ : at);
    }
    bool place(i64 cell) {
        const i64 key = table_.keys[static_cast<std::size_t>(cell)];
        if (key == -1) return true;  // numbers next to 0, whose place is that of 0: not found here
        const i32 at = place_of((key < 0 ? ~key : key) << table_.shift, key < 0);
        if (static_cast<u64>(at) == 2 * size_ + 1) return false;
        slots_[static_cast<std::size_t>(at)] = static_cast<std::int16_t>(cell);
        return true;
    }
    void lay_out(i64 cells) {
        shift_ = table_.shift, seen_ = 0, again_ = 2 * cells;
        u64 all = 0, least = ~u64(0), most = 0;
        for (const i64 key : table_.keys) {
            const u64 magnitude = static_cast<u64>(key < 0 ? ~key : key);
            if (!magnitude) continue;
            all |= magnitude;
            least = std::min(least, magnitude), most = std::max(most, magnitude);
        }
        int zeros = 0;  // trailing bits that no key has
        while (all && !(all >> zeros & 1)) ++zeros;
        least = all ? least >> zeros : 0, most >>= zeros;
        if (most - least >= PLACES || cells > std::numeric_limits<std::int16_t>::max()) return;
        drop_ = shift_ + zeros;
        odd_ = static_cast<i64>(((u64(1) << drop_) - 1) & ~((u64(1) << shift_) - 1));
        // room on both sides, but none for infinity and NaN
        const u64 span = most - least + 1, room = std::min((PLACES - span) / 2, span / 4 + 16);
        const u64 highest = ((u64(0x7FF) << 52) - 1) >> drop_;
        base_ = least - std::min(least, room);
        size_ = std::min(most + room, highest) - base_ + 1;
        slots_.assign(2 * size_ + 2, -1);
        while (seen_ < cells) place(seen_++);
        open_ = true;
    }

    const GridTable& table_;
    int shift_ = -1, drop_ = 0;
    i64 odd_ = 0, seen_ = 0, again_ = 0;
    u64 base_ = 0, size_ = 0;
    std::vector<std::int16_t> slots_;
    bool open_ = false;
};

// Counts one column; NaN is left out. Returns the fault of its values.
template <class M>
int count_grid(const M& x, const i32* codes, const double* weights, i64 classes,
               GridTable& table) {
    constexpr i64 AHEAD = 64;
    for (i64 i = 0; i < x.n; ++i)
        if (codes[i] < 0 || codes[i] >= classes)
            throw std::out_of_range("a class code is out of range");
    GridWindow window(table);
    i32 at[AHEAD];
    double copied[AHEAD];
    int fault = FINE;
    for (i64 i = 0; i < x.n;) {
        if (window.fits()) {
            const i64 end = std::min(i + AHEAD, x.n), begin = i;
            if constexpr (holds_floats<M>) {
                window.find(x.at(i, 0), x.row, end - i, at);
            } else {
                x.read(i, end - i, 0, copied, 1);
                window.find(copied, 1, end - i, at);
            }
            double* const counts = table.counts.data();
            for (; i < end; ++i) {
                const i64 cell = window.cell(at[i - begin]);
                if (cell < 0) break;
                counts[cell * classes + codes[i]] += weights ? weights[i] : 1.0;
            }
            if (i == end) continue;
        }
        const double value = x.number(i, 0);
        const double w = weights ? weights[i] : 1.0;
        if (value == value && !is_finite(value))
            fault |= NOT_FINITE;
        else if (value == value && w != 0.0)
            table.add(value, codes[i], w);
        ++i;
    }
    return fault;
}

}  // namespace tb
