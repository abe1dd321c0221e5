// The binding of the kernel that finds where CSV records end.
#include "text/records.hpp"

#include <nanobind/nanobind.h>

#include "bind/modules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::size_t last_record_end_(const nb::bytes& text, const nb::bytes& delimiter) {
    if (delimiter.size() != 1) throw nb::value_error("the delimiter has to be one byte");
    const char* at = static_cast<const char*>(text.data());
    nb::gil_scoped_release release;
    return tb::last_record_end(at, text.size(), *static_cast<const char*>(delimiter.data()));
}

}  // namespace

void bind_records(nb::module_& m) {
    m.def("last_record_end", &last_record_end_, "text"_a, "delimiter"_a);
}
