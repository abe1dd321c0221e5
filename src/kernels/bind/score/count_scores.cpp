// The binding of the kernel that looks up what counts say.
#include "score/count_scores.hpp"

#include "bind/arrays.hpp"
#include "bind/modules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

void add_of_counts_(const InVector<double>& x, const InTable<double>& table, OutTable<double> scores,
                    OutVector<unsigned char> beyond, int threads) {
    const i64 n = static_cast<i64>(x.shape(0)), classes = static_cast<i64>(table.shape(1));
    need(scores, 0, n, "scores"), need(scores, 1, classes, "scores"), need(beyond, 0, n, "beyond");
    nb::gil_scoped_release release;
    add_of_counts(x.data(), n, table.data(), static_cast<i64>(table.shape(0)), classes,
                  scores.data(), beyond.data(), threads);
}

}  // namespace

void bind_count_scores(nb::module_& m) {
    m.def("add_of_counts", &add_of_counts_, "x"_a, "table"_a, "scores"_a.noconvert(),
          "beyond"_a.noconvert(), "threads"_a);
}
