// The binding of the kernel that finds the bin of each number.
#include "bind/modules.hpp"
#include "score/bins.hpp"

#include "bind/arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

int bin_entries_(const In& x, const InVector<double>& edges, OutVector<i32> entries, int threads) {
    const Matrix m = matrix(x);
    if (m.d != 1) throw nb::value_error("one column is needed");
    need(entries, 0, m.n, "entries");
    nb::gil_scoped_release release;
    const Edges tree(edges.data(), static_cast<i64>(edges.shape(0)));
    return with_numbers(m, [&](auto typed) {
        return bin_entries(typed, tree, entries.data(), threads);
    });
}

}  // namespace

void bind_bins(nb::module_& m) {
    m.def("bin_entries", &bin_entries_, "x"_a, "edges"_a, "entries"_a.noconvert(), "threads"_a);
}
