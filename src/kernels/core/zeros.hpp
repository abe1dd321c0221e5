// A large table of zeros in huge pages. The operating system clears a page when it is first touched;
// a table of 16 MB that is added to all over has 4,096 pages of 4 kB, whose faults cost as much as
// two thirds of the additions, or eight of 2 MB.
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tb {

constexpr std::size_t HUGE_PAGE = std::size_t(1) << 21;
constexpr std::size_t MIN_HUGE_BYTES = HUGE_PAGE;

inline std::size_t huge_pages(std::size_t bytes) {
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

// Zeroed memory for so many bytes, null where the system has none; to be given back with free_zeros.
inline void* huge_zeros(std::size_t bytes) {
#if defined(MADV_HUGEPAGE) && !defined(TB_EXACT_BUFFERS)
    const std::size_t size = huge_pages(bytes), room = size + HUGE_PAGE;
    if (size < bytes || room < size) return nullptr;
    void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(mapped);
    const std::size_t before = huge_pages(reinterpret_cast<std::uintptr_t>(begin)) -
                               reinterpret_cast<std::uintptr_t>(begin);
    if (before) munmap(begin, before);
    munmap(begin + before + size, HUGE_PAGE - before);
    madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
#else
    (void)bytes;
    return nullptr;
#endif
}

inline void free_zeros(void* zeros, std::size_t bytes) {
#if defined(MADV_HUGEPAGE) && !defined(TB_EXACT_BUFFERS)
    munmap(zeros, huge_pages(bytes));
#else
    (void)zeros, (void)bytes;
#endif
}

}  // namespace tb
