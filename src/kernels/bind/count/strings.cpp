// The binding of the kernels that turn strings into codes: Arrow streams or arrays in, arrays and lists
// out.
#include "bind/arrays.hpp"
#include "bind/modules.hpp"
#include "count/strings.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <memory>

#include "core/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

struct Encoded {
    ArrowColumn column;
    TextRanks ranks;
    Buffer<i32> codes;

    explicit Encoded(ArrowArrayStream* stream) : column(stream), codes(column.rows()) {
        if (column.format != "u" && column.format != "U" && column.format != "vu")
            throw nb::type_error("a column of strings is needed");
        if (column.rows() > std::numeric_limits<i32>::max())
            throw nb::value_error("a column of strings has 2^31 rows or more: give it in parts");
    }
};

nb::object text_of(const Text& text) {
    PyObject* decoded = PyUnicode_DecodeUTF8(text.at, static_cast<Py_ssize_t>(text.size), nullptr);
    if (!decoded) throw nb::python_error();
    return nb::steal(decoded);
}

nb::list encode_strings_(const nb::list& streams, int threads) {
    std::vector<std::unique_ptr<Encoded>> all;
    i64 rows = 0;
    for (nb::handle stream : streams) {
        void* p = PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream");
        if (!p) throw nb::python_error();
        all.push_back(std::make_unique<Encoded>(static_cast<ArrowArrayStream*>(p)));
        rows += all.back()->column.rows();
    }
    const i64 tasks = static_cast<i64>(all.size());
    {
        nb::gil_scoped_release release;
        run_tasks(tasks, threads_for(rows * 8, tasks, threads), [&](i64 task, int) {
            Encoded& e = *all[static_cast<std::size_t>(task)];
            encode_strings(e.column, e.ranks, e.codes.get());
        });
    }
    nb::list out;
    for (auto& e : all) {
        nb::list levels;
        for (auto& text : e->ranks.strings) levels.append(text_of(text));
        const std::size_t n = static_cast<std::size_t>(e->column.rows());
        auto* kept = new Buffer<i32>(std::move(e->codes));
        nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer<i32>*>(p); });
        out.append(nb::make_tuple(
            nb::ndarray<nb::numpy, i32, nb::ndim<1>>(kept->get(), {n}, owner), levels));
    }
    return out;
}

// codes[i] = the rank of row i of `items` (n, bytes of an item) among its distinct rows, in order of
// appearance. Returns the first row of each.
nb::object rank_items_(InTable<std::uint8_t> items, OutVector<i32> codes) {
    const i64 n = static_cast<i64>(items.shape(0)), size = static_cast<i64>(items.shape(1));
    need(codes, 0, n, "codes");
    if (n > std::numeric_limits<i32>::max()) throw nb::value_error("there are 2^31 items or more");
    std::vector<i64> first;
    {
        nb::gil_scoped_release release;
        const char* bytes = reinterpret_cast<const char*>(items.data());
        TextRanks ranks;
        for (i64 i = 0; i < n; ++i) {
            const i32 rank = ranks.rank(Text::anywhere(bytes + i * size, size, (n - i) * size));
            if (rank == static_cast<i32>(first.size())) first.push_back(i);
            codes.data()[i] = rank;
        }
    }
    return nb::cast(as_array(std::move(first)));
}

}  // namespace

void bind_strings(nb::module_& m) {
    m.def("encode_strings", &encode_strings_, "streams"_a, "threads"_a);
    m.def("rank_items", &rank_items_, "items"_a, "codes"_a.noconvert());
}
