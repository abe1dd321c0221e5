// Columns as the Arrow C data interface hands them over: no copy, and no library of Arrow.
// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tb {

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

}  // namespace tb
