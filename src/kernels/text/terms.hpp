// Terms by what they are made of: words by their bytes, n-grams by a shorter n-gram and a symbol.
// A term keeps where its count in the document at hand is, so that counting needs no other table.
#pragma once
#include <stdexcept>

#include "core/memory.hpp"
#include "core/view.hpp"
#include "text/unicode.hpp"

namespace tb {

constexpr u32 NO_TERM = ~u32(0);       // not in the vocabulary
constexpr u32 STOP_WORD = NO_TERM - 1;  // a word that is left out
constexpr u32 ROOT = NO_TERM;          // the n-gram without a token

struct Slot {
    u64 key;
    u32 term;
    u32 entry;  // its count in the last document that had it
};

// Open addressing, in 2^BITS parts; the key EMPTY never occurs. Each of several parts doubles at a load of
// its own, from 1/2 to 3/4, so that they take turns; a single one at 3/5.
template <u64 EMPTY, int BITS>
class Slots {
public:
    Slots() {
        for (Part& part : parts_) part.resize(BITS ? 6 : 10);
    }
    [[gnu::always_inline]] void prefetch(u64 hash) const {
        const Part& part = parts_[number(hash)];
        __builtin_prefetch(&part.slots[static_cast<i64>(part.place(hash))]);
    }
    template <class Same>
    Slot* find(u64 hash, u64 key, Same&& same) const {
        const Part& part = parts_[number(hash)];
        for (u64 at = part.place(hash);; at = (at + 1) & part.mask) {
            Slot& slot = part.slots[static_cast<i64>(at)];
            if (slot.key == EMPTY || (slot.key == key && same(slot.term))) return &slot;
        }
    }
    // `slot` is where find ended; hash_of_slot tells where a slot belongs when a part grows.
    template <class HashOf>
    void fill(Slot* slot, u64 key, u32 term, HashOf&& hash_of_slot) {
        *slot = {key, term, NO_TERM};
        const u64 which = number(hash_of_slot(*slot));
        Part& part = parts_[which];
        const u64 of = BITS ? 4u << BITS : 5, most = BITS ? (2u << BITS) + which : 3;
        if (++part.filled * of < (part.mask + 1) * most) return;
        Part more;
        more.resize(64 - part.shift + 1);
        more.filled = part.filled;
        for (u64 i = 0; i <= part.mask; ++i) {
            const Slot& moved = part.slots[static_cast<i64>(i)];
            if (moved.key == EMPTY) continue;
            u64 at = more.place(hash_of_slot(moved));
            while (more.slots[static_cast<i64>(at)].key != EMPTY) at = (at + 1) & more.mask;
            more.slots[static_cast<i64>(at)] = moved;
        }
        part = std::move(more);
    }

private:
    struct Part {
        Buffer<Slot> slots;
        u64 mask = 0, filled = 0;
        int shift = 0;

        u64 place(u64 hash) const { return hash << BITS >> shift; }
        void resize(int bits) {
            shift = 64 - bits;
            mask = (u64(1) << bits) - 1;
            slots = Buffer<Slot>(static_cast<i64>(mask + 1));
            for (u64 i = 0; i <= mask; ++i) slots[static_cast<i64>(i)].key = EMPTY;
        }
    };
    static u64 number(u64 hash) {
        if constexpr (BITS == 0) return 0;
        else return hash >> (64 - BITS);
    }
    Part parts_[1 << BITS];
};

inline bool same_bytes(const u8* a, const u8* b, std::size_t size) {  // of at least 8
    u64 one, other;
    for (std::size_t at = 0; at + 8 < size; at += 8) {
        std::memcpy(&one, a + at, 8);
        std::memcpy(&other, b + at, 8);
        if (one != other) return false;
    }
    std::memcpy(&one, a + size - 8, 8);
    std::memcpy(&other, b + size - 8, 8);
    return one == other;
}

struct Term {
    u32 parent;  // ROOT for a word and a single character
    u32 symbol;  // the term of a word, or its number in words(); or a code point
};

// A word of up to 7 bytes is its own key; of a longer one the key is a hash, and bytes are compared.
struct WordKey {
    u64 key, hash;
    static WordKey of(const u8* text, std::size_t size) {
        if (size <= 7)
            return with_hash(little_endian(text, size) | static_cast<u64>(size) << 56);
        return with_hash(hash_of(text, size) | u64(255) << 56);
    }
    static WordKey with_hash(u64 key) {
        const u64 h = key >> 56 == 255 ? key : mixed(mixed(key));
        return {key, h * 0xC2B2AE3D27D4EB4Ful};
    }
};

inline u64 gram_hash(u64 key) {
    key *= 0x9E3779B97F4A7C15ul;
    return (key ^ key >> 29) * 0xC2B2AE3D27D4EB4Ful;
}

// 8 bytes more than a text: they may be read with its end.
inline std::string padded(const u8* text, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(text), size) + std::string(8, '\0');
}
inline const u8* bytes_of(const std::string& text) {
    return reinterpret_cast<const u8*>(text.data());
}

// Terms whose slots are in 2^BITS parts: no document then pays for the growth of all.
template <int BITS>
class TermsIn {
public:
    BigVector<Term> terms;

    std::size_t size() const { return terms.size(); }
    std::size_t words() const { return word_end_.size() - 1; }
    const u8* word_at(u32 word) const { return word_bytes_.data() + word_end_[word]; }
    [[gnu::always_inline]] void prefetch_spelling(u32 word) const {
        __builtin_prefetch(word_bytes_.data() + word_end_[word]);
    }
    std::size_t word_size(u32 word) const { return word_end_[word + 1] - word_end_[word]; }

    [[gnu::always_inline]] void prefetch_word(const WordKey& key) const { word_slots_.prefetch(key.hash); }
    Slot* find_word(const WordKey& key, const u8* text, std::size_t size) const {
        return word_slots_.find(key.hash, key.key, [&](u32 term) {
            if (size <= 7) return true;
            const u32 word = term == STOP_WORD ? stop_number(text, size) : terms[term].symbol;
            return word != NO_TERM && word_size(word) == size &&
                   same_bytes(word_at(word), text, size);
        });
    }
    static bool is_new(const Slot* slot) { return slot->key == 0; }
    u32 add_word(Slot* slot, const WordKey& key, const u8* text, std::size_t size) {
        const u32 term = new_term(ROOT, static_cast<u32>(words()));
        keep_word(text, size);
        fill_word(slot, key, term);
        return term;
    }
    void add_stop_words(const std::vector<std::string>& words) {
        for (const std::string& word : words)
            add_stop_word(bytes_of(padded(bytes_of(word), word.size())), word.size());
    }
    void add_stop_word(const u8* text, std::size_t size) {
        const WordKey key = WordKey::of(text, size);
        Slot* slot = find_word(key, text, size);
        if (!is_new(slot)) return;
        stop_words_.push_back(static_cast<u32>(words()));
        keep_word(text, size);
        fill_word(slot, key, STOP_WORD);
    }

    static u64 gram_key(u32 parent, u32 symbol) { return static_cast<u64>(parent) << 32 | symbol; }
    [[gnu::always_inline]] void prefetch_gram(u64 key) const { gram_slots_.prefetch(gram_hash(key)); }
    Slot* find_gram(u64 key) const {
        return gram_slots_.find(gram_hash(key), key, [](u32) { return true; });
    }
    static bool is_new_gram(const Slot* slot) { return slot->key == ~u64(0); }
    u32 add_gram(Slot* slot, u64 key) {
        const u32 term = new_term(static_cast<u32>(key >> 32), static_cast<u32>(key));
        gram_slots_.fill(slot, key, term, [](const Slot& s) { return gram_hash(s.key); });
        return term;
    }

    // Terms that are added where they are new.
    u32 word(const u8* text, std::size_t size) {
        const WordKey key = WordKey::of(text, size);
        Slot* slot = find_word(key, text, size);
        return is_new(slot) ? add_word(slot, key, text, size) : slot->term;
    }
    u32 gram(u32 parent, u32 symbol) {
        const u64 key = gram_key(parent, symbol);
        Slot* slot = find_gram(key);
        return is_new_gram(slot) ? add_gram(slot, key) : slot->term;
    }
    // The term of a padded text, of words or of characters; NO_TERM if words are not separated by single
    // spaces, or one is a stop word.
    u32 named(const u8* at, std::size_t size, bool words) {
        const u8* const end = at + size;
        u32 node = ROOT;
        if (!words) {
            for (; at < end; at += size_at(at)) node = gram(node, code_point_at(at));
            return node;
        }
        for (const u8* begin = at;; ++at) {
            if (at < end && *at != ' ') continue;
            // the key of a short word is read in 8 bytes, of which those beyond the word do not count
            const u32 one = at == begin ? STOP_WORD : word(begin, static_cast<std::size_t>(at - begin));
            if (one == STOP_WORD) return NO_TERM;
            node = node == ROOT ? one : gram(node, one);
            if (at == end) return node;
            begin = at + 1;
        }
    }

private:
    u32 new_term(u32 parent, u32 symbol) {
        if (terms.size() >= STOP_WORD) throw std::length_error("more than 2^32 - 2 terms");
        terms.push_back({parent, symbol});
        return static_cast<u32>(terms.size() - 1);
    }
    void keep_word(const u8* text, std::size_t size) {
        word_bytes_.resize(word_end_.back());
        word_bytes_.insert(word_bytes_.end(), text, text + size);
        word_end_.push_back(word_bytes_.size());
        word_bytes_.resize(word_bytes_.size() + 8);  // may be read, as a document's end may
    }
    void fill_word(Slot* slot, const WordKey& key, u32 term) {
        word_slots_.fill(slot, key.key, term,
                         [](const Slot& s) { return WordKey::with_hash(s.key).hash; });
    }
    u32 stop_number(const u8* text, std::size_t size) const {
        for (u32 word : stop_words_)
            if (word_size(word) == size && !std::memcmp(word_at(word), text, size)) return word;
        return NO_TERM;
    }

    Slots<0, BITS> word_slots_;
    Slots<~u64(0), BITS> gram_slots_;
    std::vector<u8> word_bytes_ = std::vector<u8>(8);
    std::vector<std::size_t> word_end_ = {0};
    std::vector<u32> stop_words_;
};

using Terms = TermsIn<0>;

}  // namespace tb
