// Bindings that are kept apart from the kernels' own: compiling those takes a while.
#pragma once
#include <nanobind/nanobind.h>

void bind_rows(nanobind::module_& m);     // one-row counting and scoring
void bind_without(nanobind::module_& m);  // leave-one-out
