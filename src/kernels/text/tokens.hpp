// Words of a folded document: bit masks of where tokens begin and which bytes are in a word, from
// 64 bytes at a time, and the tokens from the bits.
#pragma once
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "text/unicode.hpp"

namespace tb {

inline u64 bits_of(const u8* flags) {  // 64 bytes, 0 or 255
    u64 bits = 0;
#ifdef __SSE2__
    for (int i = 0; i < 4; ++i) {
        const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + 16 * i));
        bits |= static_cast<u64>(static_cast<u16>(_mm_movemask_epi8(part))) << (16 * i);
    }
#else
    for (int i = 0; i < 64; ++i) bits |= static_cast<u64>(flags[i] & 1) << i;
#endif
    return bits;
}

class TokenMasks {
public:
    // min_characters: shorter words are skipped. singles: characters that are tokens by themselves
    // are looked for.
    void find(const u8* text, std::size_t size, bool ascii, const TwoStage<u8>& properties,
              bool singles) {
        const std::size_t blocks = size / 64 + 2;
        if (words_.size() < blocks) {
            words_.resize(blocks + blocks / 2);
            singles_.resize(blocks + blocks / 2);
        }
        std::memset(words_.data(), 0, blocks * sizeof(u64));
        std::memset(singles_.data(), 0, blocks * sizeof(u64));
        blocks_ = blocks;
        std::size_t at = 0;  // characters that begin before are done
        for (std::size_t b = 0; 64 * b < size; ++b) {
            const std::size_t end = size < 64 * b + 64 ? size : 64 * b + 64;
            if (at <= 64 * b && (ascii || is_ascii(text + 64 * b))) {
                classify_ascii(text + 64 * b, b, singles);
                at = end;
            } else {
                while (at < end) at += classify(text, at, properties);
            }
        }
        trim(size);
    }

    // use(begin, size) for every token, in order; sizes in bytes.
    template <class Use>
    void each(const u8* text, bool longer_than_one, Use&& use) const {
        u64 last = 0;
        for (std::size_t b = 0; b + 1 < blocks_; ++b) {
            const u64 word = words_[b];
            u64 starts = (word & ~(word << 1 | last)) | singles_[b];
            last = word >> 63;
            while (starts) {
                const int bit = __builtin_ctzll(starts);
                starts &= starts - 1;
                const std::size_t at = 64 * b + static_cast<std::size_t>(bit);
                std::size_t size;
                if (word >> bit & 1) {
                    size = run(b, bit);
                    if (longer_than_one && size <= 4 && size <= size_at(text + at)) continue;
                } else {
                    size = size_at(text + at);
                }
                use(at, size);
            }
        }
    }

private:
    static bool is_ascii(const u8* text) {
        u8 any = 0;
        for (int i = 0; i < 64; ++i) any |= text[i];
        return any < 0x80;
    }
    void classify_ascii(const u8* text, std::size_t b, bool singles) {
        u8 word[64], other[64];
        for (int i = 0; i < 64; ++i) {
            const u8 c = text[i];
            const bool is = (static_cast<u8>((c | 32) - 'a') < 26) | (static_cast<u8>(c - '0') < 10) |
                            (c == '_');
            word[i] = static_cast<u8>(-static_cast<int>(is));
        }
        words_[b] = bits_of(word);
        if (!singles) return;
        for (int i = 0; i < 64; ++i) {
            const u8 c = text[i];
            const bool space = (c == ' ') | (static_cast<u8>(c - 9) < 5) | (static_cast<u8>(c - 28) < 4);
            other[i] = static_cast<u8>(~word[i] & static_cast<u8>(static_cast<int>(space) - 1));
        }
        singles_[b] = bits_of(other);
    }
    std::size_t classify(const u8* text, std::size_t at, const TwoStage<u8>& properties) {
        const std::size_t size = size_at(text + at);
        const u8 is = properties[code_point_at(text + at)];
        if (is & IN_WORD)
            for (std::size_t i = at; i < at + size; ++i) words_[i >> 6] |= u64(1) << (i & 63);
        else if (is & SINGLE)
            singles_[at >> 6] |= u64(1) << (at & 63);
        return size;
    }
    void trim(std::size_t size) {  // the padding has no tokens
        const u64 keep = (u64(1) << (size & 63)) - 1;
        words_[size >> 6] &= keep;
        singles_[size >> 6] &= keep;
    }
    std::size_t run(std::size_t b, int bit) const {
        const u64 gap = ~words_[b] >> bit;
        if (gap) return static_cast<std::size_t>(__builtin_ctzll(gap));
        std::size_t size = static_cast<std::size_t>(64 - bit);
        while (words_[++b] == ~u64(0)) size += 64;  // the last block is 0
        return size + static_cast<std::size_t>(__builtin_ctzll(~words_[b]));
    }

    std::vector<u64> words_, singles_;
    std::size_t blocks_ = 0;
};

}  // namespace tb
