// Bindings that are kept apart from the kernels' own: compiling those takes a while.
#pragma once
#include <nanobind/nanobind.h>

void bind_bins(nanobind::module_& m);
void bind_choice(nanobind::module_& m);   // what columns may be read as
void bind_pooled(nanobind::module_& m);
void bind_cross(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);    // pairs of columns
void bind_rows(nanobind::module_& m);     // one-row counting and scoring
void bind_texts(nanobind::module_& m);
void bind_weights(nanobind::module_& m);  // weights and corrections
void bind_without(nanobind::module_& m);  // leave-one-out
