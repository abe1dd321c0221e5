// Arrays as they are given to the kernels of weighted models, and what is asked of them.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace nb = nanobind;

namespace tb {

template <class T, int N>
using InArray = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using OutArray = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

inline void need(bool fine, const char* what) {
    if (!fine) throw std::invalid_argument(what);
}

}  // namespace tb
