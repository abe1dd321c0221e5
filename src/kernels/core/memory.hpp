// Memory in huge pages, and beside cache lines. The operating system clears a page when it is first
// touched: a table of 16 MB that is added to all over has 4,096 pages of 4 kB, whose faults cost as much
// as two thirds of the additions, or eight of 2 MB; and a large table that is read all over misses the
// cache of addresses less.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

constexpr std::size_t HUGE_PAGE = std::size_t(1) << 21, MIN_HUGE_BYTES = HUGE_PAGE;

// Memory for so many bytes, not initialised and aligned for vector loads; to be given back with free().
void* allocate(std::size_t bytes);

// Zeroed memory in huge pages, null where the system has none; to be given back with free_zeros.
void* huge_zeros(std::size_t bytes);
void free_zeros(void* zeros, std::size_t bytes);

// Memory aligned for vector loads; freed with the object. Not initialised.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(i64 size) { resize(size); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() { std::free(data_); }
    void resize(i64 size) {
        if (size <= capacity_) return;
        std::free(data_);
        data_ = nullptr, capacity_ = 0;
        data_ = static_cast<T*>(allocate(static_cast<std::size_t>(size) * sizeof(T)));
        capacity_ = size;
    }
    T* get() const { return data_; }
    T& operator[](i64 i) const { return data_[i]; }

private:
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
    }
    T* data_ = nullptr;
    i64 capacity_ = 0;
};

// The allocator of vectors in such memory.
template <class T, bool Zeroed>
struct Pages {
    using value_type = T;
    template <class Other>
    struct rebind {
        using other = Pages<Other, Zeroed>;
    };

    Pages() = default;
    template <class Other>
    Pages(const Pages<Other, Zeroed>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(tb::allocate(n * sizeof(T))); }
    void deallocate(T* p, std::size_t) { std::free(p); }
    template <class U, class... Args>
    void construct(U* p, Args&&... args) {
        if constexpr (Zeroed || sizeof...(Args))
            ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
        else
            ::new (static_cast<void*>(p)) U;
    }
    friend bool operator==(const Pages&, const Pages&) { return true; }
    friend bool operator!=(const Pages&, const Pages&) { return false; }
};

template <class T>
using BigVector = std::vector<T, Pages<T, false>>;  // resize() leaves new items uninitialised
template <class T>
using InLines = std::vector<T, Pages<T, true>>;  // begins where a cache line does

}  // namespace tb
