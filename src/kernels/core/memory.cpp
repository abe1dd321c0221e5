// Memory in huge pages; see memory.hpp.
#include "core/memory.hpp"

#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace {

[[maybe_unused]] std::size_t huge_pages(std::size_t bytes) {
    return (bytes + tb::HUGE_PAGE - 1) / tb::HUGE_PAGE * tb::HUGE_PAGE;
}

}  // namespace

void* tb::allocate(std::size_t bytes) {
    const std::size_t page = bytes >= MIN_HUGE_BYTES ? HUGE_PAGE : 64;
    void* fresh = nullptr;
#ifdef TB_EXACT_BUFFERS  // the sanitizers see an overrun only beyond what was allocated
    if (posix_memalign(&fresh, page, bytes ? bytes : 1)) throw std::bad_alloc();
#else
    const std::size_t size = bytes ? (bytes + page - 1) / page * page : page;
    if (size >= bytes) fresh = std::aligned_alloc(page, size);
    if (!fresh) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (page > 64) madvise(fresh, size, MADV_HUGEPAGE);
#endif
#endif
    return fresh;
}

void* tb::huge_zeros(std::size_t bytes) {
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

void tb::free_zeros(void* zeros, std::size_t bytes) {
#if defined(MADV_HUGEPAGE) && !defined(TB_EXACT_BUFFERS)
    munmap(zeros, huge_pages(bytes));
#else
    (void)zeros, (void)bytes;
#endif
}
