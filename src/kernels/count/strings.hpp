// Columns of strings by Arrow's C interface, and as codes.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/view.hpp"

namespace tb {

// ---- streams of Arrow ---------------------------------------------------------------------------
// Columns as the Arrow C data interface hands them over: no copy, and no library of Arrow.
// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

// The chunks of one column, until they are given back with the object.
struct ArrowColumn {
    std::string format;
    std::vector<ArrowArray> chunks;

    explicit ArrowColumn(ArrowArrayStream* stream) {
        if (!stream->release) throw std::invalid_argument("the Arrow stream was read before");
        ArrowSchema schema{};
        need(stream, stream->get_schema(stream, &schema));
        format = schema.format;
        if (schema.release) schema.release(&schema);
        try {
            for (;;) {
                ArrowArray chunk{};
                need(stream, stream->get_next(stream, &chunk));
                if (!chunk.release) break;
                chunks.push_back(chunk);
            }
        } catch (...) {
            give_back();
            throw;
        }
    }
    ArrowColumn(const ArrowColumn&) = delete;
    ArrowColumn& operator=(const ArrowColumn&) = delete;
    ~ArrowColumn() { give_back(); }

    std::int64_t rows() const {
        std::int64_t n = 0;
        for (auto& chunk : chunks) n += chunk.length;
        return n;
    }

private:
    static void need(ArrowArrayStream* stream, int error) {
        if (!error) return;
        const char* why = stream->get_last_error(stream);
        throw std::runtime_error(why ? why : "an Arrow stream could not be read");
    }
    void give_back() {
        for (auto& chunk : chunks)
            if (chunk.release) chunk.release(&chunk);
        chunks.clear();
    }
};

// ---- strings to codes ---------------------------------------------------------------------------
// Strings to codes: which of the strings met so far, in order of appearance, each row holds.

template <class Word>
u64 load(const void* from) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    return word;
}

// 16 − n bytes from its begin: n bytes that are kept and zeros for the rest. Masks spare a branch
// on the size of a string, which nobody could guess.
inline const unsigned char* keep(i64 n) {
    static constexpr unsigned char KEEP[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                               255, 255, 255, 255, 255, 255, 255, 255};
    return KEEP + 16 - (n < 16 ? n : 16);
}

// A string with its first 16 bytes as two words, zeros after its end. Strings of 16 bytes or less
// are equal if size and words are; of longer ones the second word is a hash of the rest as well.
struct Text {
    const char* at;
    i64 size;
    u64 first, second;

    // `room`: how many bytes may be read from `at` on
    static Text anywhere(const char* at, i64 size, i64 room) {
        char padded[16] = {};
        const char* from = at;
        if (room < 16) {
            if (size) std::memcpy(padded, at, static_cast<std::size_t>(size));
            from = padded;
        }
        Text text{at, size, load<u64>(from) & load<u64>(keep(size)),
                  load<u64>(from + 8) & load<u64>(keep(size) + 8)};
        for (i64 done = 16; done < size; done += 8) {
            const u64 word = load<u64>(at + (done + 8 < size ? done : size - 8));
            text.second = (text.second ^ word) * 0xC2B2AE3D27D4EB4Ful;
            text.second ^= text.second >> 29;
        }
        return text;
    }
    // 12 bytes or less, where 12 may be read
    static Text short_one(const char* at, i64 size) {
        return {at, size, load<u64>(at) & load<u64>(keep(size)),
                load<std::uint32_t>(at + 8) & load<std::uint32_t>(keep(size) + 8)};
    }
    u64 hash() const {
        u64 h = (first ^ static_cast<u64>(size) * 0x165667B19E3779F9ul) * 0x9E3779B97F4A7C15ul;
        h = ((h ^ h >> 32) ^ second) * 0xC2B2AE3D27D4EB4Ful;
        return h ^ h >> 32;
    }
    bool operator==(const Text& other) const {
        return first == other.first && second == other.second && size == other.size &&
               (size <= 16 || !std::memcmp(at, other.at, static_cast<std::size_t>(size)));
    }
};

// The distinct strings so far. They are not copied.
class TextRanks {
public:
    std::vector<Text> strings;  // in order of appearance

    TextRanks() { rehash(256); }
    i32 rank(const Text& text) {
        for (u64 at = text.hash() & mask_;; at = (at + 1) & mask_) {
            const i32 found = slots_[at];
            if (found < 0) return insert(text, at);
            if (strings[static_cast<std::size_t>(found)] == text) return found;
        }
    }

private:
    i32 insert(const Text& text, u64 at) {
        const i32 rank = static_cast<i32>(strings.size());
        strings.push_back(text);
        slots_[at] = rank;
        if (2 * strings.size() > slots_.size()) rehash(4 * slots_.size());
        return rank;
    }
    void rehash(std::size_t size) {
        slots_.assign(size, -1);
        mask_ = size - 1;
        for (std::size_t i = 0; i < strings.size(); ++i) {
            u64 at = strings[i].hash() & mask_;
            while (slots_[at] >= 0) at = (at + 1) & mask_;
            slots_[at] = static_cast<i32>(i);
        }
    }

    std::vector<i32> slots_;
    u64 mask_ = 0;
};

inline bool is_valid(const ArrowArray& chunk, i64 i) {
    const auto* bits = static_cast<const std::uint8_t*>(chunk.buffers[0]);
    i += chunk.offset;
    return !bits || (bits[i >> 3] >> (i & 7) & 1);
}

// Formats "u" and "U": strings one after the other, and where each begins.
template <class Offset>
void encode_joined(const ArrowArray& chunk, TextRanks& ranks, i32* codes) {
    if (!chunk.length) return;
    const Offset* begin = static_cast<const Offset*>(chunk.buffers[1]) + chunk.offset;
    const char* bytes = static_cast<const char*>(chunk.buffers[2]);
    const Offset end = begin[chunk.length];
    for (i64 i = 0; i < chunk.length; ++i)
        codes[i] = !is_valid(chunk, i)
                       ? -1
                       : ranks.rank(Text::anywhere(bytes + begin[i], begin[i + 1] - begin[i],
                                                   end - begin[i]));
}

// Format "vu": 16 bytes a row, which hold the size and the string, or else where it is.
inline void encode_views(const ArrowArray& chunk, TextRanks& ranks, i32* codes) {
    struct View {
        i32 size;
        char start[4];
        i32 buffer, offset;
    };
    static_assert(sizeof(View) == 16);
    const View* view = static_cast<const View*>(chunk.buffers[1]) + chunk.offset;
    const i64* sizes = static_cast<const i64*>(chunk.buffers[chunk.n_buffers - 1]);
    for (i64 i = 0; i < chunk.length; ++i) {
        const View v = view[i];
        if (!is_valid(chunk, i)) {
            codes[i] = -1;
        } else if (v.size <= 12) {
            codes[i] = ranks.rank(Text::short_one(view[i].start, v.size));
        } else {
            const char* bytes = static_cast<const char*>(chunk.buffers[2 + v.buffer]);
            codes[i] = ranks.rank(
                Text::anywhere(bytes + v.offset, v.size, sizes[v.buffer] - v.offset));
        }
    }
}

// codes[i] = the rank of the string of row i among `ranks`, −1 for a missing value.
inline void encode_strings(const ArrowColumn& column, TextRanks& ranks, i32* codes) {
    for (auto& chunk : column.chunks) {
        if (column.format == "u")
            encode_joined<i32>(chunk, ranks, codes);
        else if (column.format == "U")
            encode_joined<i64>(chunk, ranks, codes);
        else
            encode_views(chunk, ranks, codes);
        codes += chunk.length;
    }
}

}  // namespace tb
