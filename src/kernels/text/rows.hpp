// Counted documents: for each document its columns with their counts, in tasks of some documents.
#pragma once
#include <algorithm>

#include "core/parallel.hpp"
#include "core/view.hpp"
#include "text/unicode.hpp"

namespace tb {

struct Entry {
    u32 term, count;
};

struct TextView {
    const char* at;
    std::size_t size;
};

constexpr std::size_t NO_FAULT = ~std::size_t(0);
constexpr std::size_t TASK_BYTES = 1 << 18;

// Documents from begin to end, one task.
struct Range {
    std::size_t begin, end;
};

inline std::vector<Range> ranges_of(const std::vector<TextView>& documents, std::size_t& bytes) {
    std::vector<Range> ranges;
    std::size_t begin = 0, here = 0;
    bytes = 0;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        here += documents[i].size + 16;
        if (here < TASK_BYTES && i + 1 < documents.size()) continue;
        ranges.push_back({begin, i + 1});
        bytes += here;
        begin = i + 1;
        here = 0;
    }
    return ranges;
}

// Sorts items by the lower bits of their keys.
template <class Item, class KeyOf>
void sort_by(std::vector<Item>& items, std::vector<Item>& spare, int bits, KeyOf&& key_of) {
    const std::size_t n = items.size();
    if (n < 96) {
        std::sort(items.begin(), items.end(),
                  [&](const Item& a, const Item& b) { return key_of(a) < key_of(b); });
        return;
    }
    constexpr int DIGIT = 10;
    spare.resize(n);
    for (int done = 0; done < bits; done += DIGIT) {
        u32 begin[1 << DIGIT] = {};
        const auto digit = [&](const Item& item) {
            return static_cast<u32>(key_of(item) >> done) & ((1u << DIGIT) - 1);
        };
        for (const Item& item : items) ++begin[digit(item)];
        u32 sum = 0;
        for (u32& b : begin) {
            const u32 here = b;
            b = sum;
            sum += here;
        }
        for (const Item& item : items) spare[begin[digit(item)]++] = item;
        items.swap(spare);
    }
}

inline int bits_for(u64 values) {
    int bits = 1;
    while (bits < 64 && values >> bits) ++bits;
    return bits;
}

// Rows with sorted columns, as they were counted.
struct TextRows {
    std::vector<std::vector<Entry>> tasks;
    std::vector<Range> ranges;
    std::vector<u32> sizes;  // of each row

    // indices and counts of all rows, one after the other
    template <class T>
    void write(i32* indices, T* counts, int threads) const {
        std::vector<std::size_t> begin(tasks.size() + 1, 0);
        for (std::size_t t = 0; t < tasks.size(); ++t) begin[t + 1] = begin[t] + tasks[t].size();
        const i64 n = static_cast<i64>(tasks.size());
        run_tasks(n, threads_for(static_cast<i64>(begin.back()), n, threads), [&](i64 t, int) {
            const auto& entries = tasks[static_cast<std::size_t>(t)];
            std::size_t at = begin[static_cast<std::size_t>(t)];
            for (const Entry& e : entries) {
                indices[at] = static_cast<i32>(e.term);
                counts[at++] = static_cast<T>(e.count);
            }
        });
    }
};

}  // namespace tb
