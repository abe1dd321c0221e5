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

// ---- hashes -------------------------------------------------------------------------------------
// The hash of a token and of an n-gram. Columns of hashed documents depend on it: it must not change.

inline u64 mixed(u64 h) {
    h *= 0x9E3779B97F4A7C15ul;
    return h ^ h >> 32;
}

inline u64 little_endian(const u8* from, std::size_t size) {  // up to 8 bytes, zeros beyond
    u64 word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    std::memcpy(&word, from, 8);  // the text is padded
    return size < 8 ? word & ((u64(1) << 8 * size) - 1) : word;
#else
    for (std::size_t i = 0; i < size && i < 8; ++i) word |= static_cast<u64>(from[i]) << 8 * i;
    return word;
#endif
}

// h₀ = size, h ← mixed(h ⊕ next 8 bytes), mixed once more.
inline u64 hash_of(const u8* text, std::size_t size) {
    u64 h = size;
    for (std::size_t done = 0; done < size; done += 8)
        h = mixed(h ^ little_endian(text + done, size - done));
    return mixed(h);
}

// Of a code point, and of an n-gram longer by one token.
inline u64 hash_of(u32 code_point) { return mixed(mixed(u64(1) << 32 | code_point)); }
inline u64 hash_of(u64 gram, u64 token) { return mixed((gram << 1 | gram >> 63) ^ token); }

inline u32 bucket_of(u64 hash, u32 buckets) {
    return static_cast<u32>((mixed(hash) >> 32) * buckets >> 32);
}

}  // namespace tb
