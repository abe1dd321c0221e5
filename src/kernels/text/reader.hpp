// From a document to its n-grams: folding, tokens, and n-grams of one order after the other.
#pragma once
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "text/unicode.hpp"

namespace tb {

// ---- folding ------------------------------------------------------------------------------------
// A document as its tokens are read from: lower case and without accents, if that is asked for.

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

// ---- tokens -------------------------------------------------------------------------------------
// Words of a folded document: bit masks of where tokens begin and which bytes are in a word, from
// 64 bytes at a time, and the tokens from the bits.

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

// ---- n-grams ------------------------------------------------------------------------------------
// From a document to its n-grams: folding, tokens, and n-grams of one order after the other. What
// becomes of a token and of an n-gram is the sink's matter, see sinks.hpp.

enum class Unit { words, characters, characters_in_words };

struct TextRules {
    TwoStage<u8> properties;
    Folding folding;
    Unit unit = Unit::words;
    u32 min_n = 1, max_n = 1;
    bool singles = false;          // characters that are tokens by themselves
    bool longer_than_one = false;  // words of one character are skipped
};

template <class Sink>
class TextReader {
    using Node = typename Sink::Node;
    using Key = typename Sink::Key;

public:
    TextReader(const TextRules& rules, Sink& sink)
        : rules_(rules), sink_(sink), fold_(rules.folding, rules.properties) {}

    // False if the document is not UTF-8; then some of it may have been counted.
    bool operator()(const char* bytes, std::size_t size) {
        const Folded text = fold_(reinterpret_cast<const u8*>(bytes), size);
        if (!text.valid) return false;
        sink_.begin();
        if (rules_.unit == Unit::words)
            words(text);
        else
            characters(text);
        sink_.end();
        return true;
    }

private:
    static constexpr std::size_t BATCH = 128, AHEAD = 8;
    struct Token {
        Key key;
        std::size_t at, size;
    };

    void words(const Folded& text) {
        masks_.find(text.at, text.size, text.ascii, rules_.properties, rules_.singles);
        symbols_.clear();
        std::size_t waiting = 0;
        const auto count = [&] {
            for (std::size_t i = 0; i < waiting; ++i) {
                const Token& token = batch_[i];
                Node node;
                if (sink_.word(token.key, text.at + token.at, token.size, rules_.min_n == 1, node) &&
                    rules_.max_n > 1)
                    symbols_.push_back(node);
            }
            waiting = 0;
        };
        masks_.each(text.at, rules_.longer_than_one, [&](std::size_t at, std::size_t size) {
            Token& token = batch_[waiting];
            token = {sink_.key(text.at + at, size), at, size};
            sink_.prefetch_word(token.key);
            if (++waiting == BATCH) count();
        });
        count();
        if (rules_.max_n == 1) return;
        nodes_ = symbols_;
        longer_grams(rules_.min_n, rules_.max_n);
    }

    // nodes_ holds the n-grams of order 1, symbols_ the tokens.
    void longer_grams(u32 min_n, u32 max_n) {
        for (std::size_t n = 2; n <= max_n && n <= symbols_.size(); ++n) {
            const std::size_t grams = symbols_.size() - n + 1;
            for (std::size_t i = 0; i < grams; ++i) {
                if (i + AHEAD < grams) sink_.prefetch_gram(nodes_[i + AHEAD], symbols_[i + AHEAD + n - 1]);
                nodes_[i] = sink_.gram(nodes_[i], symbols_[i + n - 1], n >= min_n);
            }
        }
    }

    void characters(const Folded& text) {
        const bool in_words = rules_.unit == Unit::characters_in_words;
        points_.clear();
        if (in_words) points_.push_back(' ');
        const u8* end = text.at + text.size;
        for (const u8* p = text.at; p < end;) {
            const u32 c = code_point_at(p);
            p += size_at(p);
            if (!(rules_.properties[c] & WHITE_SPACE)) {
                points_.push_back(c);
                continue;
            }
            bool several = false;
            while (p < end && rules_.properties[code_point_at(p)] & WHITE_SPACE) {
                p += size_at(p);
                several = true;
            }
            if (!in_words) {
                points_.push_back(several ? ' ' : c);
            } else if (points_.size() > 1) {
                grams_of_word();
            }
        }
        if (!in_words)
            grams_of_points(rules_.min_n);
        else if (points_.size() > 1)
            grams_of_word();
    }

    // A word between two spaces; one shorter than min_n counts once, as it is.
    void grams_of_word() {
        points_.push_back(' ');
        grams_of_points(points_.size() < rules_.min_n ? static_cast<u32>(points_.size()) : rules_.min_n);
        points_.resize(1);
    }

    void grams_of_points(u32 min_n) {
        nodes_.clear();
        symbols_.clear();
        for (u32 c : points_) {
            symbols_.push_back(sink_.character(c));
            nodes_.push_back(sink_.first(symbols_.back(), min_n == 1));
        }
        longer_grams(min_n, rules_.max_n);
    }

    const TextRules& rules_;
    Sink& sink_;
    Folder fold_;
    TokenMasks masks_;
    Token batch_[BATCH];
    std::vector<Node> symbols_, nodes_;
    std::vector<u32> points_;
};

}  // namespace tb
