// Terms by what they are made of: words by their bytes, n-grams by a shorter n-gram and a symbol.
// A term keeps where its count in the document at hand is, so that counting needs no other table.
#pragma once
#include <stdexcept>

#include "core/big_vector.hpp"
#include "core/view.hpp"
#include "text/hashing.hpp"

namespace tb {

constexpr u32 NO_TERM = ~u32(0);       // not in the vocabulary
constexpr u32 STOP_WORD = NO_TERM - 1;  // a word that is left out
constexpr u32 ROOT = NO_TERM;          // the n-gram without a token

struct Slot {
    u64 key;
    u32 term;
    u32 entry;  // its count in the last document that had it
};

// Open addressing; the key EMPTY never occurs.
template <u64 EMPTY>
class SlotTable {
public:
    SlotTable() { rebuild(10); }
    u64 place(u64 hash) const { return hash >> shift_; }
    [[gnu::always_inline]] void prefetch(u64 hash) const { __builtin_prefetch(&slots_[static_cast<i64>(place(hash))]); }
    template <class Same>
    Slot* find(u64 hash, u64 key, Same&& same) const {
        for (u64 at = place(hash);; at = (at + 1) & mask_) {
            Slot& slot = slots_[static_cast<i64>(at)];
            if (slot.key == EMPTY || (slot.key == key && same(slot.term))) return &slot;
        }
    }
    // `slot` is where find ended; hash_of_slot tells where a slot belongs when the table grows.
    template <class HashOf>
    void fill(Slot* slot, u64 key, u32 term, HashOf&& hash_of_slot) {
        *slot = {key, term, NO_TERM};
        if (++filled_ * 5 < (mask_ + 1) * 3) return;
        Buffer<Slot> old = std::move(slots_);
        const u64 size = mask_ + 1;
        rebuild(64 - shift_ + 1);
        for (u64 i = 0; i < size; ++i) {
            const Slot& moved = old[static_cast<i64>(i)];
            if (moved.key == EMPTY) continue;
            u64 at = place(hash_of_slot(moved));
            while (slots_[static_cast<i64>(at)].key != EMPTY) at = (at + 1) & mask_;
            slots_[static_cast<i64>(at)] = moved;
        }
    }

private:
    void rebuild(int bits) {
        shift_ = 64 - bits;
        mask_ = (u64(1) << bits) - 1;
        slots_ = Buffer<Slot>(static_cast<i64>(mask_ + 1));
        for (u64 i = 0; i <= mask_; ++i) slots_[static_cast<i64>(i)].key = EMPTY;
    }
    Buffer<Slot> slots_;
    u64 mask_ = 0, filled_ = 0;
    int shift_ = 0;
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

template <template <u64> class Slots>
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
        for (const std::string& word : words) {
            const std::string padded = word + std::string(8, '\0');
            add_stop_word(reinterpret_cast<const u8*>(padded.data()), word.size());
        }
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

    Slots<0> word_slots_;
    Slots<~u64(0)> gram_slots_;
    std::vector<u8> word_bytes_ = std::vector<u8>(8);
    std::vector<std::size_t> word_end_ = {0};
    std::vector<u32> stop_words_;
};

using Terms = TermsIn<SlotTable>;

}  // namespace tb
