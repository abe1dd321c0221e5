// Terms as strings, in the order of a tree: an n-gram stands below its parent.
#pragma once
#include "text/terms.hpp"

namespace tb {

struct SpelledTerms {
    BigVector<u32> terms;
    BigVector<u8> bytes;       // their strings, one after the other
    BigVector<i64> end = {0};  // where each begins; one more than terms
};

class TermSpeller {
public:
    TermSpeller(const Terms& terms, bool words, u32 longest)
        : terms_(terms), words_(words), longest_(longest) {}

    // The subtrees of the children of the root from `first` to `last`, which have a place among all
    // children. held: whether a document holds the term; empty if one holds each.
    template <class Children>
    void spell(const Children& below, const std::vector<u8>& held, std::size_t first,
               std::size_t last, SpelledTerms& out) {
        struct Level {
            std::size_t next, end, prefix;
        };
        std::vector<Level> path{{first, last, 0}};
        std::vector<u8> text(SLACK);  // of the term at hand
        while (!path.empty()) {
            Level& level = path.back();
            if (level.next == level.end) {
                path.pop_back();
                continue;
            }
            if (level.next + AHEAD < level.end) prefetch(below.all[level.next + AHEAD].symbol);
            const auto child = below.all[level.next++];
            const std::size_t size = append(text, level.prefix, child.symbol, path.size() > 1);
            if (held.empty() || held[child.term]) keep(child.term, text.data(), size, out);
            if (path.size() < longest_ && below.size_of(child.term))
                path.push_back({below.begin[child.term], below.begin[child.term + 1], size});
        }
        out.bytes.resize(static_cast<std::size_t>(out.end.back()));
    }

private:
    static constexpr std::size_t AHEAD = 8, CHUNK = 16, SLACK = 64;

    void prefetch(u32 symbol) const {
        if (words_) terms_.prefetch_spelling(symbol);
    }

    // The size of a text of which `prefix` bytes stay and a symbol follows.
    std::size_t append(std::vector<u8>& text, std::size_t prefix, u32 symbol, bool later) const {
        const std::size_t size = words_ ? terms_.word_size(symbol) : 4;
        if (text.size() < prefix + size + SLACK) text.resize(2 * (prefix + size + SLACK));
        u8* to = text.data() + prefix;
        if (!words_) return static_cast<std::size_t>(put_code_point(to, symbol) - text.data());
        if (later) *to++ = ' ';
        std::memcpy(to, terms_.word_at(symbol), size);
        return static_cast<std::size_t>(to - text.data()) + size;
    }

    static void keep(u32 term, const u8* text, std::size_t size, SpelledTerms& out) {
        const std::size_t at = static_cast<std::size_t>(out.end.back());
        if (out.bytes.size() < at + size + CHUNK) out.bytes.resize(2 * (at + size + CHUNK));
        u8* to = out.bytes.data() + at;
        for (std::size_t i = 0; i < size; i += CHUNK) std::memcpy(to + i, text + i, CHUNK);
        out.end.push_back(static_cast<i64>(at + size));
        out.terms.push_back(term);
    }

    const Terms& terms_;
    bool words_;
    u32 longest_;
};

}  // namespace tb
