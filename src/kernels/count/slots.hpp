// The classes that occur in one chunk of rows, numbered in order of appearance, so that a chunk
// needs room for the classes it holds and not for all of them; and of each its first rows.
#pragma once
#include <stdexcept>

#include "core/view.hpp"

namespace tb {

class Slots {
public:
    // of the differences of rows, as far as 0 may be from them: sums of squares about 0 are then at
    // most some 2^6 times those about the mean, and so is their rounding
    static constexpr double NEAR = 8.0;

    // Numbers codes[0..n); rows may be left out by weight zero (they get slot 0 and are skipped).
    void number(const i32* codes, const double* w, i64 n, i64 classes) {
        if (lookup_size_ < classes) {
            lookup_.resize(classes);
            for (i64 k = 0; k < classes; ++k) lookup_[k] = -1;
            lookup_size_ = classes;
        }
        slot_.resize(n);
        class_.resize(n < classes ? n : classes);
        first_.resize(3 * (n < classes ? n : classes));
        rows_.resize(n < classes ? n : classes);
        // before anything is numbered: a refusal halfway would leave numbers behind
        bool within = true;
        for (i64 i = 0; i < n; ++i) within &= codes[i] >= 0 && codes[i] < classes;
        if (!within) throw std::out_of_range("a class code is out of range");
        used = 0;
        for (i64 i = 0; i < n; ++i) {
            if (w && w[i] == 0.0) {
                slot_[i] = 0;
                continue;
            }
            i32& s = lookup_[codes[i]];
            if (s < 0) {
                s = static_cast<i32>(used);
                class_[used] = codes[i];
                rows_[used] = 0;
                ++used;
            }
            slot_[i] = s;
            if (rows_[s] < 3) first_[3 * s + rows_[s]] = i;
            ++rows_[s];
        }
        for (i64 s = 0; s < used; ++s) lookup_[class_[s]] = -1;
    }
    const i32* slot() const { return slot_.get(); }
    i32 class_of(i64 s) const { return class_[s]; }
    // What the sums of a class are taken about: 0 where that is near enough, since numbers less 0
    // need no rounding, else of its first three rows the median, of two the one that is nearer to
    // 0, so that one far row is not it.
    // `value(row)` is the column's value.
    template <class Value>
    double shift(i64 s, Value&& value) const {
        const i64* first = first_.get() + 3 * s;
        const double a = value(first[0]);
        if (rows_[s] < 2) return a;
        const double b = value(first[1]);
        if (rows_[s] < 3) return (a < 0 ? -a : a) <= (b < 0 ? -b : b) ? a : b;
        const double c = value(first[2]);
        const double low = a < b ? a : b, high = a < b ? b : a;
        const double middle = c < low ? low : c > high ? high : c;
        const double apart = (c > high ? c : high) - (c < low ? c : low);
        return middle <= NEAR * apart && -middle <= NEAR * apart ? 0.0 : middle;
    }
    i64 rows(i64 s) const { return rows_[s]; }  // of weight other than 0

    // The rows of weight other than 0, those of each class together, in their order: of slot s they
    // end before end(s), where those of slot s + 1 begin.
    i32* by_class(const double* w, i64 n) {
        row_.resize(n);
        end_.resize(used);
        i64 start = 0;
        for (i64 s = 0; s < used; ++s) end_[s] = start, start += rows_[s];
        for (i64 i = 0; i < n; ++i)
            if (!w || w[i] != 0.0) row_[end_[slot_[i]]++] = static_cast<i32>(i);
        return row_.get();
    }
    i64 end(i64 s) const { return end_[s]; }
    i64 used = 0;

private:
    Buffer<i32> lookup_, slot_, class_, row_;
    Buffer<i64> first_, rows_, end_;
    i64 lookup_size_ = 0;
};

}  // namespace tb
