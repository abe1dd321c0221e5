// A document as its tokens are read from: lower case and without accents, if that is asked for.
#pragma once
#include "text/unicode.hpp"

namespace tb {

// What stands for a code point: itself (0), or the string of that number.
struct Folding {
    TwoStage<u16> number;
    std::vector<std::string> strings;  // [0] is not used
    bool lower = false;                // lower case: the sigma depends on what is around it
    bool ascii = false;                // only ASCII is kept: no sigma of either form
    u32 longest = 4;                   // bytes of the longest string
};

// Memory that grows without being initialised; PADDING bytes beyond the end may be read.
class Scratch {
public:
    static constexpr std::size_t PADDING = 64;
    u8* reserve(std::size_t size, std::size_t used = 0) {
        if (size + PADDING > capacity_) {
            const std::size_t capacity = size + size / 2 + PADDING;
            std::vector<u8> fresh(capacity);
            if (used) std::memcpy(fresh.data(), bytes_.data(), used);
            bytes_.swap(fresh);
            capacity_ = capacity;
        }
        return bytes_.data();
    }

private:
    std::vector<u8> bytes_;
    std::size_t capacity_ = 0;
};

struct Folded {
    const u8* at;
    std::size_t size;
    bool valid, ascii;
};

class Folder {
public:
    Folder(const Folding& folding, const TwoStage<u8>& properties)
        : folding_(folding), properties_(properties) {}

    // The folded document, until the next call.
    Folded operator()(const u8* text, std::size_t size) {
        u8* out = scratch_.reserve(size);
        u8 any = 0;
        if (folding_.lower)
            for (std::size_t i = 0; i < size; ++i) {
                const u8 c = text[i];
                any |= c;
                out[i] = static_cast<u8>(c + (static_cast<u8>(static_cast<u8>(c - 'A') < 26) << 5));
            }
        else
            for (std::size_t i = 0; i < size; ++i) {
                any |= text[i];
                out[i] = text[i];
            }
        if (any < 0x80) {
            std::memset(out + size, 0, Scratch::PADDING);
            return {out, size, true, true};
        }
        return fold_unicode(text, text + size);
    }

private:
    Folded fold_unicode(const u8* begin, const u8* end) {
        std::size_t room = static_cast<std::size_t>(end - begin) + folding_.longest;
        u8* base = scratch_.reserve(room);
        u8* to = base;
        for (const u8* p = begin; p < end;) {
            const std::size_t used = static_cast<std::size_t>(to - base);
            const std::size_t need = used + static_cast<std::size_t>(end - p) + folding_.longest;
            if (need > room) {
                room = need + need / 2;
                base = scratch_.reserve(room, used);
                to = base + used;
            }
            if (*p < 0x80) {
                const bool capital = folding_.lower && static_cast<u8>(*p - 'A') < 26;
                *to++ = static_cast<u8>(*p++ + (capital ? 32 : 0));
                continue;
            }
            const u32 size = valid_size_at(p, end);
            if (!size) return {base, static_cast<std::size_t>(p - begin), false, false};
            const u32 c = code_point_at(p);
            if (c == CAPITAL_SIGMA && folding_.lower && !folding_.ascii) {
                to = put_code_point(to, is_final(begin, p, end) ? FINAL_SIGMA : SMALL_SIGMA);
            } else if (const u16 number = folding_.number[c]) {
                const std::string& s = folding_.strings[number];
                std::memcpy(to, s.data(), s.size());
                to += s.size();
            } else {
                std::memcpy(to, p, size);
                to += size;
            }
            p += size;
        }
        std::memset(to, 0, Scratch::PADDING);
        return {base, static_cast<std::size_t>(to - base), true, false};
    }

    // The capital sigma at p ends a word: a letter before it and none after it, others skipped.
    bool is_final(const u8* begin, const u8* p, const u8* end) const {
        const u8* q = p;
        bool letter = false;
        while (q > begin) {
            do --q;
            while (q > begin && (*q & 0xC0) == 0x80);
            const u8 is = properties_[code_point_at(q)];
            if (is & CASE_IGNORABLE) continue;
            letter = is & CASED;
            break;
        }
        if (!letter) return false;
        for (q = p + 2; q < end;) {
            const u32 size = valid_size_at(q, end);
            if (!size) return true;  // refused when it is reached
            const u8 is = properties_[code_point_at(q)];
            if (!(is & CASE_IGNORABLE)) return !(is & CASED);
            q += size;
        }
        return true;
    }

    const Folding& folding_;
    const TwoStage<u8>& properties_;
    Scratch scratch_;
};

}  // namespace tb
