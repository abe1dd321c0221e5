// The binding of one-row counting and scoring, kept apart from the kernels' binding.
#pragma once
#include <nanobind/nanobind.h>

void bind_rows(nanobind::module_& m);
