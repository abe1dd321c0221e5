// The classes that occur in one chunk of rows, numbered in order of appearance, so that a chunk
// needs room for the classes it holds and not for all of them; and of each the heaviest row.
#pragma once
#include <cmath>
#include <stdexcept>

#include "view.hpp"

namespace tb {

class Slots {
public:
    // Numbers codes[0..n); rows may be left out by weight zero (they get slot 0 and are skipped).
    void number(const i32* codes, const double* w, i64 n, i64 classes) {
        if (lookup_size_ < classes) {
            lookup_.resize(classes);
            for (i64 k = 0; k < classes; ++k) lookup_[k] = -1;
            lookup_size_ = classes;
        }
        slot_.resize(n);
        class_.resize(n < classes ? n : classes);
        first_.resize(n < classes ? n : classes);
        heaviest_.resize(n < classes ? n : classes);
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
                first_[used] = i;
                heaviest_[used] = w ? std::fabs(w[i]) : 1.0;
                rows_[used] = 0;
                ++used;
            } else if (w && std::fabs(w[i]) > heaviest_[s]) {
                first_[s] = i, heaviest_[s] = std::fabs(w[i]);
            }
            slot_[i] = s;
            ++rows_[s];
        }
        for (i64 s = 0; s < used; ++s) lookup_[class_[s]] = -1;
    }
    const i32* slot() const { return slot_.get(); }
    i32 class_of(i64 s) const { return class_[s]; }
    // the first row of a class, or the first of the heaviest where rows have weights
    i64 heaviest_row(i64 s) const { return first_[s]; }
    i64 rows(i64 s) const { return rows_[s]; }  // of weight other than 0
    i64 used = 0;

private:
    Buffer<i32> lookup_, slot_, class_;
    Buffer<i64> first_, rows_;
    Buffer<double> heaviest_;
    i64 lookup_size_ = 0;
};

}  // namespace tb
