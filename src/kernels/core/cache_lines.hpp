// Vectors that begin where a cache line does: a table whose rows fill whole lines is read in as few of
// them as it can be.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace tb {

template <class T>
struct CacheLines {
    using value_type = T;
    static constexpr std::align_val_t LINE{64};

    CacheLines() = default;
    template <class Other>
    CacheLines(const CacheLines<Other>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), LINE)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, LINE); }
    friend bool operator==(const CacheLines&, const CacheLines&) { return true; }
    friend bool operator!=(const CacheLines&, const CacheLines&) { return false; }
};

template <class T>
using InLines = std::vector<T, CacheLines<T>>;

}  // namespace tb
