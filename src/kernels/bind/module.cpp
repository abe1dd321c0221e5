// The compiled module: instruction sets, and its parts. Each part checks types, shapes and strides of
// numpy arrays, releases the GIL, and returns faults as flags for Python to word.
#include <nanobind/nanobind.h>

#include <atomic>
#include <string>
#include <vector>

#include "bind/arrays.hpp"

// the parts, each in a file of its own: compiling them takes a while
void bind_counts(nanobind::module_& m);
void bind_documents(nanobind::module_& m);
void bind_leave_one_out(nanobind::module_& m);
void bind_live_documents(nanobind::module_& m);
void bind_row_counter(nanobind::module_& m);
void bind_row_scorer(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_weighted(nanobind::module_& m);

namespace {

using namespace tb;

struct InstructionSet {
    const char* name;
    const Loops* (*loops)();
    bool available;
};

const std::vector<InstructionSet>& instruction_sets() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> all;
        all.push_back({"baseline", baseline::loops, true});
#ifdef TB_X86
        __builtin_cpu_init();
        const bool fma = __builtin_cpu_supports("fma");
        all.push_back({"avx2", avx2::loops, fma && __builtin_cpu_supports("avx2")});
        all.push_back({"avx512", avx512::loops,
                       fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")});
#endif
        return all;
    }();
    return sets;
}

std::atomic<const InstructionSet*> chosen{nullptr};

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (auto& set : instruction_sets())
        if (set.available) names.push_back(set.name);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (auto& set : instruction_sets())
        if (set.available && name == set.name) {
            chosen = &set;
            return;
        }
    std::string message = "instruction set '" + name + "' is not available here; choose one of:";
    for (auto& known : available_instruction_sets()) message += " " + known;
    throw nb::value_error(message.c_str());
}

}  // namespace

const tb::Loops& tb::chosen_loops() { return *chosen.load()->loops(); }

void tb::need_sizes(std::initializer_list<i64> shape, const char* what, const std::int64_t* found) {
    for (const i64 size : shape)
        if (*found++ != size) throw std::invalid_argument(std::string(what) + " has the wrong length");
}

NB_MODULE(_kernels, m) {
    // the best instruction set of this machine, unless use_instruction_set says otherwise
    for (auto& set : instruction_sets())
        if (set.available) chosen = &set;

    m.def("available_instruction_sets", &available_instruction_sets);
    m.def("instruction_set", [] { return std::string(chosen.load()->name); });
    def(m, "use_instruction_set", &use_instruction_set, "name");
    m.attr("NOT_FINITE") = static_cast<int>(NOT_FINITE);
    m.attr("NEGATIVE") = static_cast<int>(NEGATIVE);
    m.attr("NOT_INTEGER") = static_cast<int>(NOT_INTEGER);
    m.attr("OUT_OF_RANGE") = static_cast<int>(OUT_OF_RANGE);
    nb::set_leak_warnings(false);  // objects that live to the end of the process are not a leak

    for (auto* part : {bind_counts, bind_documents, bind_leave_one_out, bind_live_documents,
                       bind_row_counter, bind_row_scorer, bind_scores, bind_text, bind_weighted})
        part(m);
}
