// The binding of the kernels for pairs of columns.
#include "bind/arrays.hpp"
#include "bind/given.hpp"
#include "bind/modules.hpp"
#include "weighted/pair_gains.hpp"
#include "weighted/row_scores.hpp"

#include <vector>

using namespace nb::literals;

namespace {

using namespace tb;

LabelledRows labelled(const InArray<i32, 1>& y, const InArray<double, 1>& weight,
                      const InArray<float, 2>& P) {
    need(y.shape(0) == P.shape(0) && weight.shape(0) == P.shape(0), "rows differ");
    return {y.data(), weight.data(), P.data(), static_cast<i64>(P.shape(0)),
            static_cast<i64>(P.shape(1))};
}

void screen(InArray<std::uint8_t, 2> codes, InArray<i64, 1> size, InArray<i32, 2> pairs,
            InArray<i32, 1> y, InArray<float, 1> weight, InArray<float, 2> P,
            InArray<double, 2> strength, OutArray<double, 2> gains, int threads) {
    need(y.shape(0) == P.shape(0) && weight.shape(0) == P.shape(0), "rows differ");
    need(codes.shape(1) == P.shape(0) && codes.shape(0) == size.shape(0), "codes differ");
    need(pairs.shape(1) == 2 && gains.shape(0) == pairs.shape(0), "pairs differ");
    need(strength.shape(1) == P.shape(1) && gains.shape(1) == strength.shape(0),
         "strengths differ");
    nb::gil_scoped_release release;
    screen_pairs(chosen_loops(), y.data(), weight.data(), P.data(), P.shape(0), P.shape(1), codes.data(),
                 size.data(), pairs.data(), pairs.shape(0), strength.data(), strength.shape(0),
                 gains.data(), threads);
}

PairColumns columns_of(const InArray<std::uint8_t, 2>& coarse, const InArray<std::uint8_t, 2>& fine,
                       const InArray<i64, 2>& size, const InArray<i64, 2>& numbers,
                       const InArray<bool, 1>& number, i64 most_cells, i64 n) {
    need(static_cast<i64>(coarse.shape(1)) == n && static_cast<i64>(fine.shape(1)) == n &&
             coarse.shape(0) == fine.shape(0) && size.shape(0) == 2 &&
             size.shape(1) == fine.shape(0) && numbers.shape(0) == 2 &&
             numbers.shape(1) == fine.shape(0) && number.shape(0) == fine.shape(0),
         "columns differ");
    return {{coarse.data(), fine.data()},
            {size.data(), size.data() + size.shape(1)},
            {numbers.data(), numbers.data() + numbers.shape(1)},
            number.data(),
            most_cells};
}

void tried(InArray<std::uint8_t, 2> coarse, InArray<std::uint8_t, 2> fine, InArray<i64, 2> size,
           InArray<i64, 2> numbers, InArray<bool, 1> number, i64 most_cells,
           InArray<i32, 2> pairs, InArray<i32, 1> y, InArray<double, 1> weight,
           InArray<float, 2> P, InArray<double, 2> strength, InArray<double, 1> width,
           OutArray<double, 3> gains, int threads) {
    const LabelledRows rows = labelled(y, weight, P);
    need(rows.classes == 2 && strength.shape(1) == 2, "two classes are asked for");
    const PairColumns columns = columns_of(coarse, fine, size, numbers, number, most_cells, rows.n);
    need(pairs.shape(1) == 2 && gains.shape(0) == pairs.shape(0), "pairs differ");
    need(gains.shape(1) == 1 + width.shape(0) && gains.shape(2) == strength.shape(0),
         "ways differ");
    nb::gil_scoped_release release;
    try_pairs(chosen_loops(), rows, columns, pairs.data(), pairs.shape(0), strength.data(),
              strength.shape(0), width.data(), width.shape(0), gains.data(), threads);
}

void exact(InArray<std::uint8_t, 2> coarse, InArray<std::uint8_t, 2> fine, InArray<i64, 2> size,
           InArray<i64, 2> numbers, InArray<bool, 1> number, i64 most_cells,
           InArray<i32, 2> pairs, InArray<i32, 1> y, InArray<double, 1> weight,
           InArray<float, 2> P, InArray<double, 2> strength, InArray<double, 1> width,
           OutArray<double, 3> gains, int threads, i64 middle, bool thorough) {
    const LabelledRows rows = labelled(y, weight, P);
    const PairColumns columns = columns_of(coarse, fine, size, numbers, number, most_cells, rows.n);
    need(pairs.shape(1) == 2 && gains.shape(0) == pairs.shape(0), "pairs differ");
    need(strength.shape(1) == P.shape(1) && gains.shape(1) == 1 + width.shape(0) &&
             gains.shape(2) == strength.shape(0) && middle >= 0 &&
             middle < static_cast<i64>(strength.shape(0)),
         "ways differ");
    const PairWays ways{strength.data(), width.data(), static_cast<i64>(strength.shape(0)), middle,
                        static_cast<i64>(width.shape(0)), thorough};
    nb::gil_scoped_release release;
    exact_pair_gains(chosen_loops(), rows, columns, pairs.data(), pairs.shape(0), ways,
                     gains.data(), threads);
}

void sum(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> weight, InArray<float, 2> P,
         OutArray<double, 3> sums) {
    const LabelledRows rows = labelled(y, weight, P);
    need(cells.shape(0) == P.shape(0) && sums.shape(0) == 4 && sums.shape(2) == P.shape(1),
         "shapes differ");
    const Sums<double> into(sums.data(), sums.shape(1) * sums.shape(2));
    nb::gil_scoped_release release;
    sum_pair(rows.y, rows.weight, rows.P, rows.n, rows.classes, GivenCell{cells.data()},
             sums.shape(1), into);
}

double estimate(OutArray<double, 3> sums, InArray<double, 2> C, InArray<double, 2> E,
                InArray<double, 1> strength, InArray<double, 1> removed) {
    need(sums.shape(0) == 4 && sums.shape(1) == C.shape(0) && sums.shape(2) == C.shape(1) &&
             E.shape(0) == C.shape(0) && E.shape(1) == C.shape(1) &&
             strength.shape(0) == C.shape(1) && removed.shape(0) == C.shape(1),
         "shapes differ");
    const i64 cells = C.shape(0), K = C.shape(1), wide = padded(K);
    const Sums<double> of(sums.data(), cells * K);
    nb::gil_scoped_release release;
    if (K == 2)
        return CellsOfTwo(of, cells, removed.data())
            .gain(chosen_loops(), C.data(), E.data(), strength.data());
    const InLines<float> counted = lanes_of(of.C, cells, K), expected = lanes_of(of.E, cells, K),
                         own = lanes_of(of.O, cells, K), c = lanes_of(C.data(), cells, K),
                         e = lanes_of(E.data(), cells, K), t = lanes_of(strength.data(), 1, K),
                         below = lanes_of(strength.data(), 1, K, 1.0f),
                         less = lanes_of(removed.data(), 1, K);
    std::vector<double> share(cells * wide);
    return cell_gain(chosen_loops(), {counted.data(), expected.data(), own.data()},
                     {c.data(), e.data(), t.data(), below.data(), wide, K}, cells, less.data(),
                     share.data());
}

double gain(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> weight,
            InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E,
            InArray<double, 1> strength) {
    const LabelledRows rows = labelled(y, weight, P);
    need(cells.shape(0) == P.shape(0) && strength.shape(0) == P.shape(1), "shapes differ");
    nb::gil_scoped_release release;
    return residual_gain(chosen_loops(), rows, cells.data(), C.data(), E.data(), C.shape(0),
                         C.shape(1), strength.data());
}

void values(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
            InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E,
            InArray<double, 1> strength, OutArray<float, 2> out, int threads) {
    const LabelledRows rows = labelled(y, removed, P);
    need(cells.shape(0) == P.shape(0) && strength.shape(0) == P.shape(1) &&
             out.shape(0) == P.shape(1) && out.shape(1) == P.shape(0),
         "shapes differ");
    nb::gil_scoped_release release;
    residual_values(chosen_loops(), rows.y, removed.data(), rows.P, rows.n, rows.classes,
                    cells.data(), C.data(), E.data(), C.shape(0), strength.data(), out.data(), threads);
}

void joint(InArray<i32, 1> first, InArray<i32, 1> second, InArray<i32, 1> a, InArray<i32, 1> b,
           int width, OutArray<i32, 1> cells, int threads) {
    need(first.shape(0) == cells.shape(0) && second.shape(0) == cells.shape(0), "rows differ");
    nb::gil_scoped_release release;
    joint_cells(first.data(), second.data(), cells.shape(0), a.data(), b.data(), width,
                cells.data(), threads);
}

void column(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
            InArray<double, 2> C, InArray<double, 1> p, double least, InArray<double, 1> W,
            OutArray<double, 2> S, int threads) {
    need(cells.shape(0) == S.shape(0) && y.shape(0) == S.shape(0) &&
             removed.shape(0) == S.shape(0) && C.shape(1) == S.shape(1) &&
             p.shape(0) == S.shape(1) && W.shape(0) == S.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    add_column(cells.data(), y.data(), removed.data(), S.shape(0), S.shape(1), C.data(),
               C.shape(0), p.data(), least, W.data(), S.data(), threads);
}

void pair(InArray<i32, 1> cells, InArray<i32, 1> y, InArray<double, 1> removed,
          InArray<float, 2> P, InArray<double, 2> C, InArray<double, 2> E, InArray<double, 1> t,
          InArray<double, 1> W, OutArray<double, 2> S, int threads) {
    need(cells.shape(0) == S.shape(0) && y.shape(0) == S.shape(0) &&
             removed.shape(0) == S.shape(0) && P.shape(0) == S.shape(0) &&
             P.shape(1) == S.shape(1) && C.shape(1) == S.shape(1) && E.shape(0) == C.shape(0) &&
             E.shape(1) == S.shape(1) && t.shape(0) == S.shape(1) && W.shape(0) == S.shape(1),
         "shapes differ");
    nb::gil_scoped_release release;
    add_pair(chosen_loops(), cells.data(), y.data(), removed.data(), P.data(), S.shape(0), S.shape(1), C.data(),
             E.data(), C.shape(0), t.data(), W.data(), S.data(), threads);
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("screen_pairs", &screen, "codes"_a, "size"_a, "pairs"_a, "y"_a, "weight"_a, "P"_a,
          "strength"_a, "gains"_a, "threads"_a);
    m.def("try_pairs", &tried, "coarse"_a, "fine"_a, "size"_a, "numbers"_a, "number"_a,
          "most_cells"_a, "pairs"_a, "y"_a, "weight"_a, "P"_a, "strength"_a, "width"_a, "gains"_a,
          "threads"_a);
    m.def("exact_pair_gains", &exact, "coarse"_a, "fine"_a, "size"_a, "numbers"_a, "number"_a,
          "most_cells"_a, "pairs"_a, "y"_a, "weight"_a, "P"_a, "strength"_a, "width"_a,
          "gains"_a, "threads"_a, "middle"_a, "thorough"_a);
    m.def("joint_cells", &joint, "first"_a, "second"_a, "a"_a, "b"_a, "width"_a, "cells"_a,
          "threads"_a);
    m.def("sum_pair", &sum, "cells"_a, "y"_a, "weight"_a, "P"_a, "sums"_a);
    m.def("cell_gain", &estimate, "sums"_a, "C"_a, "E"_a, "strength"_a, "removed"_a);
    m.def("residual_gain", &gain, "cells"_a, "y"_a, "weight"_a, "P"_a, "C"_a, "E"_a, "strength"_a);
    m.def("residual_values", &values, "cells"_a, "y"_a, "removed"_a, "P"_a, "C"_a, "E"_a,
          "strength"_a, "out"_a, "threads"_a);
    m.def("add_column", &column, "cells"_a, "y"_a, "removed"_a, "C"_a, "p"_a, "least"_a, "W"_a,
          "S"_a, "threads"_a);
    m.def("add_pair", &pair, "cells"_a, "y"_a, "removed"_a, "P"_a, "C"_a, "E"_a, "strength"_a,
          "W"_a, "S"_a, "threads"_a);
}
