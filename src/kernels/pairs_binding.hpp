// The binding of the kernels for pairs, kept apart from the other kernels' binding.
#pragma once
#include <nanobind/nanobind.h>

void bind_pairs(nanobind::module_& m);
