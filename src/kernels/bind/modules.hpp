// The parts of the compiled module, each in a file of its own: compiling them takes a while.
#pragma once
#include <nanobind/nanobind.h>

void bind_bins(nanobind::module_& m);           // numbers to bins
void bind_count_scores(nanobind::module_& m);  // what counts say, by a table
void bind_choice(nanobind::module_& m);         // what columns may be read as
void bind_counts(nanobind::module_& m);         // labels, moments, sums, levels, grids
void bind_cross(nanobind::module_& m);          // cross moments
void bind_documents(nanobind::module_& m);      // documents: tallies, sums, scores, the ridge
void bind_leave_one_out(nanobind::module_& m);  // scores of rows taken out of the counts
void bind_live_documents(nanobind::module_& m);  // models that follow documents one by one
void bind_numpy_strings(nanobind::module_& m);  // terms as NumPy's strings
void bind_pairs(nanobind::module_& m);          // pairs of columns
void bind_pooled(nanobind::module_& m);         // densities beside atoms
void bind_records(nanobind::module_& m);         // where CSV records end
void bind_row_counter(nanobind::module_& m);    // one row into counts
void bind_row_scorer(nanobind::module_& m);     // one row into scores
void bind_scores(nanobind::module_& m);
void bind_sparse_counts(nanobind::module_& m);  // sums, moments and levels of sparse matrices
void bind_strings(nanobind::module_& m);        // strings to codes
void bind_text(nanobind::module_& m);           // documents to counts of terms
void bind_weights(nanobind::module_& m);        // weights and cell offsets
