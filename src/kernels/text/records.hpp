// Where the records of a CSV text end: at newlines, but for those inside quoted fields.
#pragma once
#include <cstddef>
#include <cstring>

namespace tb {

// The end of the last record of a text that begins with a record; 0 where none ends in it. A quote
// opens a field only as its first byte; doubled, it stands for itself. What follows a closing quote
// belongs to the field, quotes included. A text that ends in a quoted field ends in an open record.
inline std::size_t last_record_end(const char* text, std::size_t size, char delimiter) {
    const char* const stop = text + size;
    const char* at = text;
    std::size_t end = 0;
    while (at < stop) {
        const std::size_t left = static_cast<std::size_t>(stop - at);
        const char* quote = static_cast<const char*>(std::memchr(at, '"', left));
        const char* until = quote ? quote : stop;
        for (const char* p = until; p > at; --p)
            if (p[-1] == '\n') {
                end = static_cast<std::size_t>(p - text);
                break;
            }
        if (!quote) return end;
        at = quote + 1;
        const char before = quote == text ? '\n' : quote[-1];
        if (before != delimiter && before != '\n' && before != '\r') continue;
        for (;;) {  // inside a quoted field
            const char* close = static_cast<const char*>(
                std::memchr(at, '"', static_cast<std::size_t>(stop - at)));
            if (!close) return end;
            at = close + 1;
            if (at == stop || *at != '"') break;
            ++at;
        }
    }
    return end;
}

}  // namespace tb
