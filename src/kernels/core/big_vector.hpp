// Vectors whose memory is in huge pages once they are large: a fault for each 4 kB of fresh memory
// costs more than what counting writes there. resize() leaves new items uninitialised.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/zeros.hpp"

namespace tb {

template <class T>
struct BigPages {
    using value_type = T;

    BigPages() = default;
    template <class Other>
    BigPages(const BigPages<Other>&) {}
    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
#if defined(MADV_HUGEPAGE) && !defined(TB_EXACT_BUFFERS)
        if (bytes >= MIN_HUGE_BYTES) {
            const std::size_t size = huge_pages(bytes);
            void* at = size < bytes ? nullptr : std::aligned_alloc(HUGE_PAGE, size);
            if (!at) throw std::bad_alloc();
            madvise(at, size, MADV_HUGEPAGE);
            return static_cast<T*>(at);
        }
#endif
        void* at = std::malloc(bytes ? bytes : 1);
        if (!at) throw std::bad_alloc();
        return static_cast<T*>(at);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    template <class U>
    void construct(U* p) {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Args>
    void construct(U* p, Args&&... args) {
        ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
    friend bool operator==(const BigPages&, const BigPages&) { return true; }
    friend bool operator!=(const BigPages&, const BigPages&) { return false; }
};

template <class T>
using BigVector = std::vector<T, BigPages<T>>;

}  // namespace tb
