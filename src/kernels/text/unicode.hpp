// UTF-8, and what the kernel knows of a code point. The tables are those of the running Python, see
// docs/decisions/0016-unicode-tables.md.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "simd/loop_table.hpp"

namespace tb {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr u32 CODE_POINTS = 0x110000;
constexpr u32 CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, SMALL_SIGMA = 0x3C3;

// Properties of a code point.
enum Property : u8 {
    IN_WORD = 1,         // part of a run that is a token
    SINGLE = 2,          // a token by itself
    WHITE_SPACE = 4,     // \s
    CASE_IGNORABLE = 8,  // skipped by the rule of the final sigma
    CASED = 16,          // a letter by that rule
};

// A table over all code points in blocks of 256, of which equal ones are kept once.
template <class T>
class TwoStage {
public:
    TwoStage() = default;
    explicit TwoStage(const T* flat) {
        std::map<std::string, u16> known;
        for (u32 block = 0; block < CODE_POINTS >> 8; ++block) {
            const T* from = flat + (block << 8);
            std::string bytes(reinterpret_cast<const char*>(from), 256 * sizeof(T));
            auto [at, fresh] = known.emplace(std::move(bytes), static_cast<u16>(known.size()));
            if (fresh) values_.insert(values_.end(), from, from + 256);
            blocks_.push_back(at->second);
        }
    }
    T operator[](u32 c) const { return values_[static_cast<u32>(blocks_[c >> 8]) << 8 | (c & 255)]; }

private:
    std::vector<u16> blocks_;
    std::vector<T> values_;
};

// The size of a character by its first byte, in text that is known to be valid.
inline u32 size_at(const u8* p) { return *p < 0x80 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4; }

// The code point at p in text that is known to be valid.
inline u32 code_point_at(const u8* p) {
    if (*p < 0x80) return *p;
    if (*p < 0xE0) return (p[0] & 31u) << 6 | (p[1] & 63u);
    if (*p < 0xF0) return (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
    return (p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
}

// The size of the character at p, 0 if it is not valid UTF-8: too short, too long a form, a surrogate
// or beyond U+10FFFF.
inline u32 valid_size_at(const u8* p, const u8* end) {
    const auto tail = [&](int n) {
        if (end - p <= n) return false;
        for (int i = 1; i <= n; ++i)
            if ((p[i] & 0xC0) != 0x80) return false;
        return true;
    };
    const u8 c = *p;
    if (c < 0x80) return 1;
    if (c < 0xC2) return 0;
    if (c < 0xE0) return tail(1) ? 2 : 0;
    if (c < 0xF0) {
        if (!tail(2) || (c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] >= 0xA0)) return 0;
        return 3;
    }
    if (c > 0xF4 || !tail(3) || (c == 0xF0 && p[1] < 0x90) || (c == 0xF4 && p[1] >= 0x90)) return 0;
    return 4;
}

inline u8* put_code_point(u8* to, u32 c) {
    if (c < 0x80) {
        *to++ = static_cast<u8>(c);
    } else if (c < 0x800) {
        *to++ = static_cast<u8>(0xC0 | c >> 6);
        *to++ = static_cast<u8>(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = static_cast<u8>(0xE0 | c >> 12);
        *to++ = static_cast<u8>(0x80 | (c >> 6 & 63));
        *to++ = static_cast<u8>(0x80 | (c & 63));
    } else {
        *to++ = static_cast<u8>(0xF0 | c >> 18);
        *to++ = static_cast<u8>(0x80 | (c >> 12 & 63));
        *to++ = static_cast<u8>(0x80 | (c >> 6 & 63));
        *to++ = static_cast<u8>(0x80 | (c & 63));
    }
    return to;
}

}  // namespace tb
