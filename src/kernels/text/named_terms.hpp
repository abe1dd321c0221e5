// Terms by their names, which are in order of their bytes: the order of code points.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "text/unicode.hpp"

namespace tb {

struct NamedTermsView {
    const u8* bytes;
    const i64* end;  // where each begins, and the last ends
    std::size_t n;

    const u8* at(std::size_t i) const { return bytes + end[i]; }
    std::size_t size(std::size_t i) const { return static_cast<std::size_t>(end[i + 1] - end[i]); }
};

// Below 0, 0 or above 0, as one term comes before another, is the same, or comes after it.
inline int compare(const NamedTermsView& a, std::size_t i, const NamedTermsView& b, std::size_t j) {
    const std::size_t m = a.size(i), n = b.size(j);
    const int sign = std::memcmp(a.at(i), b.at(j), std::min(m, n));
    return sign ? sign : m < n ? -1 : m > n;
}

inline bool ascend(const NamedTermsView& terms) {
    for (std::size_t i = 1; i < terms.n; ++i)
        if (compare(terms, i - 1, terms, i) >= 0) return false;
    return true;
}

struct TermPlaces {
    std::vector<i64> place;  // where a term is, or would be
    std::vector<u8> known;   // whether it is there
};

// Of terms that ascend among others that do. Few are searched for, many are merged.
inline TermPlaces places_of(const NamedTermsView& held, const NamedTermsView& terms) {
    TermPlaces out{std::vector<i64>(terms.n), std::vector<u8>(terms.n)};
    std::size_t i = 0;
    for (std::size_t j = 0; j < terms.n; ++j) {
        std::size_t step = 1;  // a search that begins with the next ones
        while (i + step < held.n && compare(held, i + step, terms, j) < 0) step *= 2;
        std::size_t low = i, high = std::min(i + step, held.n);
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (compare(held, middle, terms, j) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        i = low;
        out.place[j] = static_cast<i64>(i);
        out.known[j] = i < held.n && !compare(held, i, terms, j);
    }
    return out;
}

}  // namespace tb
