// The hash of a token and of an n-gram. Columns of hashed documents depend on it: it must not change.
#pragma once
#include "text/unicode.hpp"

namespace tb {

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
