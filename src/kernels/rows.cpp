// One row at a time: from a Python dict to counts, and to scores, without a frame.
//
// This file holds Python objects (names, levels, labels) and so lives beside the binding, not among
// the kernels. A row is read in full before anything is counted, so that a refused row counts nowhere.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cross.hpp"
#include "grid.hpp"
#include "moments.hpp"
#include "bind.hpp"
#include "pooled.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tb;

const double GAP = std::numeric_limits<double>::quiet_NaN();
// UNDECIDED: the first value tells; EITHER: numbers and texts side by side
enum Holds : int { TEXTS = 0, NUMBERS = 1, UNDECIDED = 2, IGNORED = 3, EITHER = 4 };
enum Least : int { ANY = 0, NOT_NEGATIVE = 1, POSITIVE = 2 };
enum Dates : int { UNKNOWN = 0, PLAIN = 1, DATES = 2, ANY_DATES = 3 };

using InVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using InTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using InKeys = nb::ndarray<const i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<double> values_of(const InVector& a) {
    return std::vector<double>(a.data(), a.data() + a.shape(0));
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(const std::vector<T>& values) {
    auto* kept = new std::vector<T>(values);
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

// A value as a number, a text or a gap. `convert` turns what is none of Python's own scalars (a
// numpy scalar, a Decimal) into one of them, and a date into its number in a tuple; `as_text` names
// any of them as a level. `source` is borrowed from the row.
struct Value {
    enum What { gap, number, text } what = gap;
    bool is_date = false;
    double number_value = 0.0;
    nb::object text_value;
    nb::handle source;
};

struct Reader {
    nb::object convert, as_text;

    Value read(nb::handle x, int depth = 0) const {
        Value value;
        value.source = x;
        PyObject* p = x.ptr();
        if (!p || p == Py_None) return value;
        if (PyUnicode_Check(p)) {
            value.what = Value::text;
            value.text_value = nb::borrow(x);
        } else if (PyBool_Check(p)) {
            value.what = Value::text;
            value.text_value = as_text(x);
        } else if (PyFloat_Check(p)) {
            value.number_value = PyFloat_AsDouble(p);
            if (value.number_value == value.number_value) value.what = Value::number;
        } else if (PyLong_Check(p)) {
            value.number_value = PyLong_AsDouble(p);
            if (value.number_value == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                throw nb::value_error("the row holds a whole number too large for float64");
            }
            value.what = Value::number;
        } else if (depth == 0) {
            const nb::object converted = convert(x);
            value = read(converted, 1);
            value.source = x;
        } else if (PyTuple_Check(p) && PyTuple_GET_SIZE(p) == 1) {
            value = read(PyTuple_GET_ITEM(p, 0), 2);
            value.is_date = true;
        } else {
            throw nb::type_error("a row holds numbers, texts, booleans, dates and gaps");
        }
        return value;
    }
    nb::object text_of(const Value& value) const {
        return value.what == Value::text ? value.text_value
                                         : as_text(value.source);
    }
};

i64 rank_of(nb::dict& ranks, nb::handle key, std::vector<nb::object>& order) {
    PyObject* found = PyDict_GetItemWithError(ranks.ptr(), key.ptr());
    if (found) return PyLong_AsLong(found);
    if (PyErr_Occurred()) throw nb::python_error();
    const i64 rank = static_cast<i64>(order.size());
    ranks[key] = nb::int_(rank);
    order.push_back(nb::borrow(key));
    return rank;
}

nb::list list_of(const std::vector<nb::object>& items) {
    nb::list list;
    for (auto& item : items) list.append(item);
    return list;
}

// whether a row has keys that are no texts, and the row with texts for them
bool has_other_keys(const nb::dict& row) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(row.ptr(), &at, &key, &value))
        if (!PyUnicode_Check(key)) return true;
    return false;
}

nb::dict with_text_keys(const nb::dict& row) {
    nb::dict texts;
    for (auto [key, value] : row) texts[nb::str(key)] = value;
    if (texts.size() != row.size())
        throw nb::value_error("two keys of the row are the same as text: use strings for keys");
    return texts;
}

nb::handle value_at(nb::dict& row, nb::handle name) {
    PyObject* found = PyDict_GetItemWithError(row.ptr(), name.ptr());
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return found;
}

// ---- learning ------------------------------------------------------------------------------------
struct ClassMoments {
    double n = 0, n_lo = 0, s1_hi = 0, s1_lo = 0, s2_hi = 0, s2_lo = 0;
    void add(double x, double origin, double w) {
        add_exactly(n, n_lo, w);
        const Double2 delta = exact_sum(x, -origin), weighted = delta * Double2{w, 0.0};
        const Double2 a = Double2{s1_hi, s1_lo} + weighted;
        const Double2 b = Double2{s2_hi, s2_lo} + weighted * delta;
        s1_hi = a.hi, s1_lo = a.lo, s2_hi = b.hi, s2_lo = b.lo;
    }
    // The sum of squares about the mean, as a share of the one about the origin.
    double spread() const {
        if (!(n > 0.0) || s2_hi == 0.0) return 0.0;
        const Double2 mean = Double2{s1_hi, s1_lo} / Double2{n, n_lo};
        const Double2 about = Double2{s2_hi, s2_lo} + -(mean * Double2{s1_hi, s1_lo});
        return about.hi / s2_hi;
    }
};

// Whether a count can lose `w` without a look at what rounding has left: whole rows are left, or none.
bool can_lose(double held, double w) { return held == w || held - w >= 0x1p-30 * held; }

struct CountedColumn {
    nb::object name;
    int holds;
    int least = ANY;       // what its numbers may be
    int dates = UNKNOWN;   // whether its values are dates
    std::size_t most = std::numeric_limits<std::size_t>::max();  // how many levels it may have
    // texts: the count of each level in each class
    nb::dict rank;
    std::vector<nb::object> levels;
    std::vector<std::vector<double>> counts;  // [level][class]
    // numbers
    bool started = false;
    double origin = 0.0, largest = 0.0;  // largest: of the sums of squares held at any time
    std::vector<ClassMoments> moments;   // [class]
    std::vector<GridTable> grids;        // [class]
};

// Columns whose products are counted, too, of rows that have all of them.
struct CountedGroup {
    struct ClassTotals {
        Double2 n{0.0, 0.0};
        std::vector<Double2> s1, s2;
    };
    std::vector<std::size_t> members;
    bool started = false, whole = false;  // whether the row being read has every member
    std::vector<double> origin, row;
    std::vector<Double2> delta;
    std::vector<ClassTotals> totals;  // [class]

    i64 size() const { return static_cast<i64>(members.size()); }
    void add(std::size_t k, double w) {
        if (!started) started = true, origin = row;
        while (totals.size() <= k) {
            totals.emplace_back();
            totals.back().s1.assign(members.size(), Double2{0.0, 0.0});
            totals.back().s2.assign(static_cast<std::size_t>(pairs_of(size())), Double2{0.0, 0.0});
        }
        ClassTotals& t = totals[k];
        add_cross_row(row.data(), w, origin.data(), size(), delta.data(), t.n, t.s1.data(),
                      t.s2.data());
    }
};

class RowCounter {
public:
    RowCounter(nb::list names, std::vector<int> holds, std::vector<int> least,
               std::vector<int> dates, int others, i64 budget, nb::object convert,
               nb::object as_text, nb::object check_label)
        : reader_{convert, as_text}, budget_(budget), others_(others), check_label_(check_label) {
        std::size_t i = 0;
        for (nb::handle name : names) {
            add_column(name, holds.at(i), least.at(i), dates.at(i));
            ++i;
        }
    }

    // levels that a column has, and how many it may have
    void declare(i64 j, nb::list levels, i64 most) {
        CountedColumn& column = columns_.at(static_cast<std::size_t>(j));
        column.most = static_cast<std::size_t>(most);
        for (nb::handle level : levels) rank_of(column.rank, level, column.levels);
    }

    // columns, by their numbers, that are counted together
    void add_group(std::vector<std::size_t> members) {
        CountedGroup group;
        for (std::size_t j : members)
            if (j >= columns_.size()) throw nb::index_error("a group has a column that is not there");
        group.row.resize(members.size()), group.delta.resize(members.size());
        group.members = std::move(members);
        groups_.push_back(std::move(group));
    }

    void learn(nb::dict row, nb::handle label, double w) {
        const std::size_t k = class_of(label);
        const std::size_t before = columns_.size();
        std::size_t found = 0;
        for (std::size_t j = 0; j < before; ++j) found += read(row, j, k, w);
        if (row.size() > found) {
            if (has_other_keys(row)) return learn(with_text_keys(row), label, w);
            read_new_columns(row, k, w);
        }
        for (auto& group : groups_) read_group(group, k, w);
        if (k == classes_.size()) rank_of(class_rank_, label, classes_);
        if (class_count_.size() <= k) class_count_.resize(k + 1), squared_weights_.resize(k + 1);
        class_count_[k] += w;
        squared_weights_[k] += w * w;
        ++rows;
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            CountedColumn& column = columns_[j];
            column.dates = dates_[j];
            if (codes_[j] >= 0) {
                auto& counts = level(column, codes_[j]);
                if (counts.size() <= k) counts.resize(k + 1, 0.0);
                counts[k] += w;
            } else if (values_[j] == values_[j] && w != 0.0) {
                if (!column.started) column.started = true, column.origin = values_[j];
                while (column.moments.size() <= k) {
                    column.moments.emplace_back();
                    column.grids.emplace_back(1, budget_, 0);
                }
                column.moments[k].add(values_[j], column.origin, w);
                column.largest = std::max(column.largest, column.moments[k].s2_hi);
                column.grids[k].add(values_[j], 0, w);
            }
        }
        for (auto& group : groups_)
            if (group.whole) group.add(k, w);
    }

    // ---- counts of a tally, which rows are added to and taken from
    void hold_classes(nb::list labels, InVector count, InVector squared_weights) {
        for (nb::handle label : labels) rank_of(class_rank_, label, classes_);
        class_count_ = values_of(count), squared_weights_ = values_of(squared_weights);
        holds = true;
    }
    void hold_levels(std::size_t j, nb::list levels, InTable counts) {  // (levels, classes)
        CountedColumn& column = columns_.at(j);
        const std::size_t K = classes_.size();
        if (counts.shape(0) != nb::len(levels) || counts.shape(1) != K)
            throw nb::value_error("the counts do not fit the levels");
        std::size_t i = 0;
        for (nb::handle name : levels) {
            const double* row = counts.data() + i++ * K;
            level(column, rank_of(column.rank, name, column.levels)).assign(row, row + K);
        }
    }
    // moments (classes, 6) in the order of `counted`; counts (classes, cells)
    void hold_numbers(std::size_t j, double origin, InTable moments, int shift, InKeys keys,
                      InTable counts) {
        CountedColumn& column = columns_.at(j);
        const std::size_t K = classes_.size(), cells = keys.shape(0);
        if (moments.shape(0) != K || moments.shape(1) != 6 || counts.shape(0) != K ||
            counts.shape(1) != cells)
            throw nb::value_error("the counts do not fit the classes");
        column.started = true, column.origin = origin;
        for (std::size_t k = 0; k < K; ++k) {
            const double* m = moments.data() + 6 * k;
            column.moments.push_back({m[0], m[5], m[1], m[2], m[3], m[4]});
            column.largest = std::max(column.largest, m[3]);
            column.grids.emplace_back(1, budget_, shift);
            for (std::size_t i = 0; i < cells; ++i)
                if (const double count = counts.data()[k * cells + i]; count != 0.0)
                    column.grids[k].hold(keys.data()[i], 0, count);
        }
    }
    // Takes a row away. False, and nothing is changed, where more would be taken than is held, or
    // where rounding has to be looked at: reading the tally decides then.
    bool forget(nb::dict row, nb::handle label, double w) {
        PyObject* rank = PyDict_GetItemWithError(class_rank_.ptr(), label.ptr());
        if (!rank && PyErr_Occurred()) throw nb::python_error();
        if (!rank || !groups_.empty()) return false;
        const std::size_t k = static_cast<std::size_t>(PyLong_AsLong(rank));
        std::size_t found = 0;
        for (std::size_t j = 0; j < columns_.size(); ++j) found += read(row, j, k, 0.0);
        if (row.size() > found || !can_lose(class_count_[k], w)) return false;
        if (!can_lose(squared_weights_[k], w * w)) return false;
        std::vector<ClassMoments> left(columns_.size());
        for (std::size_t j = 0; j < columns_.size(); ++j)
            if (!can_take(j, k, w, left[j])) return false;
        class_count_[k] -= w, squared_weights_[k] -= w * w;
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            CountedColumn& column = columns_[j];
            if (codes_[j] >= 0) {
                level(column, codes_[j])[k] -= w;
            } else if (values_[j] == values_[j]) {
                column.moments[k] = left[j];
                column.grids[k].add(values_[j], 0, -w);
            }
        }
        return true;
    }
    // the largest sum of squares of each column
    nb::dict largest() const {
        nb::dict found;
        for (auto& column : columns_)
            if (column.started) found[column.name] = column.largest;
        return found;
    }

    // classes, class counts, sums of squared weights, for each column: name, holds, and what was counted; and for each group
    // its origin and n, n's rest, S1 and S2 (each hi and lo) of each class, or None
    nb::tuple counted() const {
        nb::list columns;
        for (auto& column : columns_) {
            if (!column.levels.empty()) {
                nb::list counts;
                for (std::size_t i = 0; i < column.levels.size(); ++i)
                    counts.append(array_of(i < column.counts.size() ? column.counts[i]
                                                                     : std::vector<double>{}));
                columns.append(nb::make_tuple(column.name, static_cast<int>(TEXTS),
                                              list_of(column.levels), counts));
            }
            if (column.started) {
                std::vector<double> moments;
                nb::list grids;
                for (std::size_t k = 0; k < column.moments.size(); ++k) {
                    const ClassMoments& m = column.moments[k];
                    moments.insert(moments.end(), {m.n, m.s1_hi, m.s1_lo, m.s2_hi, m.s2_lo, m.n_lo});
                    const GridTable& g = column.grids[k];
                    grids.append(nb::make_tuple(g.shift, array_of(g.keys), array_of(g.counts)));
                }
                columns.append(nb::make_tuple(column.name, static_cast<int>(NUMBERS),
                                              column.origin, array_of(moments), grids, column.dates == DATES));
            }
        }
        nb::list groups;
        for (auto& group : groups_) {
            if (!group.started) {
                groups.append(nb::none());
                continue;
            }
            nb::list classes;
            for (auto& t : group.totals) {
                std::vector<double> flat{t.n.hi, t.n.lo};
                for (auto* sums : {&t.s1, &t.s2}) {
                    for (const Double2& s : *sums) flat.push_back(s.hi);
                    for (const Double2& s : *sums) flat.push_back(s.lo);
                }
                classes.append(array_of(flat));
            }
            groups.append(nb::make_tuple(array_of(group.origin), classes));
        }
        return nb::make_tuple(list_of(classes_), array_of(class_count_),
                              array_of(squared_weights_), columns, groups);
    }

    nb::list names() const {
        nb::list all;
        for (auto& column : columns_) all.append(column.name);
        return all;
    }

    i64 rows = 0;
    bool holds = false;  // whether the counts are those of a tally, and not only of these rows

private:
    // Whether column j can lose what was read of a row, and the moments that are left then.
    bool can_take(std::size_t j, std::size_t k, double w, ClassMoments& left) {
        CountedColumn& column = columns_[j];
        if (codes_[j] >= 0) {
            const auto& counts = level(column, codes_[j]);
            return k < counts.size() && can_lose(counts[k], w);
        }
        if (values_[j] != values_[j]) return true;
        if (k >= column.moments.size()) return false;
        left = column.moments[k];
        if (!can_lose(left.n, w) || !can_lose(column.grids[k].held(values_[j], 0), w)) return false;
        left.add(values_[j], column.origin, -w);
        if (left.n == 0.0) left = ClassMoments{};
        return left.n == 0.0 || left.spread() > 0x1p-60;  // less may be what rounding has left
    }
    void add_column(nb::handle name, int holds, int least, int dates) {
        CountedColumn column;
        column.name = nb::borrow(name);
        column.holds = holds, column.least = least, column.dates = dates;
        columns_.push_back(std::move(column));
        known_[name] = nb::none();
        codes_.push_back(-1), values_.push_back(GAP), dates_.push_back(dates);
    }
    // the class of a label; for a new one, if it may come, the number that it will have
    std::size_t class_of(nb::handle label) const {
        PyObject* found = PyDict_GetItemWithError(class_rank_.ptr(), label.ptr());
        if (found) return static_cast<std::size_t>(PyLong_AsLong(found));
        if (PyErr_Occurred()) throw nb::python_error();
        check_label_(label);
        return classes_.size();
    }
    // Reads a column of a row, to be counted when all of the row is read; whether the row has it.
    bool read(nb::dict& row, std::size_t j, std::size_t k, double w) {
        CountedColumn& column = columns_[j];
        codes_[j] = -1, values_[j] = GAP, dates_[j] = column.dates;
        if (column.holds == IGNORED) return false;
        const nb::handle held = value_at(row, column.name);
        const Value value = reader_.read(held);
        if (value.what == Value::gap) return held.is_valid();
        if (column.holds == UNDECIDED)
            refuse(column, "the first value of a column whose family its type decides");
        if (column.dates == UNKNOWN)
            dates_[j] = value.is_date ? DATES : PLAIN;
        else if (column.dates != ANY_DATES && value.is_date != (column.dates == DATES))
            refuse(column, "a date, or no date, where the column held the other");
        if (column.holds == TEXTS || (column.holds == EITHER && value.what == Value::text)) {
            const nb::object level = reader_.text_of(value);
            if (column.levels.size() >= column.most && !column.rank.contains(level))
                refuse(column, "a level that is not declared, or one too many");
            codes_[j] = rank_of(column.rank, level, column.levels);
        } else if (value.what == Value::number) {
            const double x = value.number_value;
            if (!is_finite(x) || !is_finite(x * x))
                refuse(column, "an infinite or too large number; replace it, or rescale");
            if (column.started) {
                const double apart = x - column.origin;
                const double sum = k < column.moments.size() ? column.moments[k].s2_hi : 0.0;
                if (!is_finite(sum + w * apart * apart))
                    refuse(column, "a number with which the sum of squares overflows; rescale");
            }
            if (column.least != ANY && !(x >= 0.0)) refuse(column, "a negative number");
            if (column.least == POSITIVE && x == 0.0)
                refuse(column, "a zero, but the column is declared positive");
            values_[j] = x;
        } else {
            refuse(column, "a text, but the column is counted as numbers");
        }
        return true;
    }
    // The values of a group, to be counted when all of the row is read.
    void read_group(CountedGroup& group, std::size_t k, double w) {
        group.whole = w != 0.0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            group.row[i] = values_[group.members[i]];
            group.whole &= group.row[i] == group.row[i];
        }
        if (!group.whole || !group.started) return;
        for (i64 i = 0; i < group.size(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double apart = group.row[at] - group.origin[at];
            const double sum = k < group.totals.size()
                                   ? group.totals[k].s2[static_cast<std::size_t>(pair_at(i, i))].hi
                                   : 0.0;
            if (!is_finite(sum + w * apart * apart))
                refuse(columns_[group.members[at]],
                       "a number with which the sum of squares overflows; rescale");
        }
    }
    // Keys that no row had before are columns, if the row is accepted.
    void read_new_columns(nb::dict& row, std::size_t k, double w) {
        const std::size_t before = columns_.size();
        try {
            for (auto [key, value] : row)
                if (!known_.contains(key)) {
                    add_column(key, others_, ANY, UNKNOWN);
                    read(row, columns_.size() - 1, k, w);
                }
        } catch (...) {
            while (columns_.size() > before) {
                nb::del(known_[columns_.back().name]);
                columns_.pop_back(), codes_.pop_back(), values_.pop_back();
                dates_.pop_back();
            }
            throw;
        }
    }
    static std::vector<double>& level(CountedColumn& column, i64 code) {
        const auto at = static_cast<std::size_t>(code);
        if (column.counts.size() <= at) column.counts.resize(at + 1);
        return column.counts[at];
    }
    [[noreturn]] static void refuse(const CountedColumn& column, const char* what) {
        const std::string name = nb::cast<std::string>(nb::str(column.name));
        throw nb::value_error(("column '" + name + "' of the row holds " + what).c_str());
    }

    Reader reader_;
    i64 budget_;
    int others_;  // what columns hold that come later
    nb::object check_label_;
    std::vector<CountedColumn> columns_;
    std::vector<CountedGroup> groups_;
    nb::dict known_;  // their names
    nb::dict class_rank_;
    std::vector<nb::object> classes_;
    std::vector<double> class_count_, squared_weights_;
    std::vector<i64> codes_;
    std::vector<double> values_;
    std::vector<int> dates_;
};

// ---- scoring -------------------------------------------------------------------------------------
using InRotation = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

struct ScoredColumn {
    nb::object name;
    enum Kind { levels, bins, quadratic, pooled, function } kind = function;
    nb::dict entry;              // text → entry of the table; of numbers, the texts beside them
    i64 unseen = 0;              // levels: the entry of a text it does not hold, −1 to refuse
    std::vector<double> edges;   // bins
    std::vector<double> table;   // levels and bins: (entries, classes), entry 0 the gap
    std::vector<double> beside;  // densities: (entries, classes), of the gap, a number and texts
    std::vector<double> constant, slope, mean, scale, gap;  // densities: (classes,) each
    std::vector<double> low, high, shift, there;  // pooled: of atoms, and (classes,) each
    double share = 0.0;          // pooled
    nb::object call;             // function
    int least = ANY;             // what its numbers may be
    bool dates = false;          // whether its numbers are dates
};

struct ScoredGroup {  // columns that are scored together
    std::vector<ScoredColumn> members;
    std::vector<double> mean, rotation, constant, freedom, row;
    nb::object call;  // of rows with gaps, NaN
    i64 classes = 0;

    Triangular terms() const {
        return {mean.data(), rotation.data(), constant.data(),
                freedom.empty() ? nullptr : freedom.data(), classes,
                static_cast<i64>(members.size())};
    }
};

class RowScorer {
public:
    RowScorer(InVector log_prior, i64 fallback, nb::list dates, nb::object convert,
              nb::object as_text)
        : reader_{convert, as_text}, prior_(values_of(log_prior)), fallback_(fallback) {
        for (nb::handle name : dates) dates_[name] = nb::none();
    }

    void add_levels(nb::object name, nb::dict entry, i64 unseen, InTable table) {
        ScoredColumn& column = add(name, ScoredColumn::levels);
        column.entry = entry, column.unseen = unseen;
        take(column, table);
    }
    void add_bins(nb::object name, InVector edges, InTable table, nb::dict texts) {
        ScoredColumn& column = add(name, ScoredColumn::bins);
        column.edges = values_of(edges), column.entry = texts;
        take(column, table);
        if (table.shape(0) < edges.shape(0) + 2 + texts.size()) throw nb::value_error("edges do not fit the table");
    }
    // constant + slope·x − ((x − mean)·scale)²; x = 0 has no slope, which may be −inf
    void add_quadratic(nb::object name, InVector constant, InVector slope, InVector mean,
                       InVector scale, InVector gap, int least, nb::dict texts, InTable beside) {
        ScoredColumn& column = add(name, ScoredColumn::quadratic);
        column.least = least;
        take_texts(column, texts, beside);
        take(column, constant, slope, mean, scale, gap);
    }
    // a density beside atoms; see PooledTerms
    void add_pooled(nb::object name, InVector low, InVector high, InTable atoms, InVector constant,
                    InVector mean, InVector scale, InVector shift, double share, InVector gap,
                    InVector there, int least, nb::dict texts, InTable beside) {
        ScoredColumn& column = add(name, ScoredColumn::pooled);
        column.least = least;
        take_texts(column, texts, beside);
        take(column, constant, shift, mean, scale, gap);
        take(column, atoms);
        if (low.shape(0) != high.shape(0) || atoms.shape(0) != low.shape(0) ||
            there.shape(0) != prior_.size())
            throw nb::value_error("the atoms do not fit the table");
        column.low = values_of(low), column.high = values_of(high);
        column.shift = values_of(shift), column.there = values_of(there), column.share = share;
    }
    // anything else: a function from a number to a score for each class
    void add_function(nb::object name, nb::object function, InVector gap, int least,
                      nb::dict texts, InTable beside) {
        ScoredColumn& column = add(name, ScoredColumn::function);
        column.least = least;
        take_texts(column, texts, beside);
        take(column, gap, gap, gap, gap, gap);
        column.call = function;
    }

    // a triangular score of several columns; `function` takes the list of their values, NaN for
    // gaps, and gives a score for each class
    void add_group(nb::list names, InTable mean, InRotation rotation, InTable constant,
                   std::optional<InVector> freedom, nb::object function) {
        const std::size_t K = prior_.size(), d = nb::len(names);
        const bool fits = mean.shape(0) == K && mean.shape(1) == d && constant.shape(0) == K &&
                          constant.shape(1) == d && rotation.shape(0) == K &&
                          rotation.shape(1) == d && rotation.shape(2) == d &&
                          (!freedom || freedom->shape(0) == K);
        if (!fits) throw nb::value_error("the group has other classes or columns");
        ScoredGroup group;
        for (nb::handle name : names) {
            group.members.emplace_back();
            group.members.back().name = nb::borrow(name);
        }
        group.mean.assign(mean.data(), mean.data() + mean.size());
        group.rotation.assign(rotation.data(), rotation.data() + rotation.size());
        group.constant.assign(constant.data(), constant.data() + constant.size());
        if (freedom) group.freedom = values_of(*freedom);
        group.row.resize(d), group.call = function, group.classes = static_cast<i64>(K);
        groups_.push_back(std::move(group));
    }

    const std::vector<double>& score(nb::dict row) {
        const std::size_t K = prior_.size();
        scores_ = prior_;
        found = 0;
        for (auto& column : columns_) {
            const nb::handle held = value_at(row, column.name);
            found += held.is_valid();
            const Value value = reader_.read(held);
            const bool number = column.kind != ScoredColumn::levels;
            const bool beside = number && value.what == Value::text;
            if (beside || !number || column.kind == ScoredColumn::bins) {
                const i64 entry = beside    ? text_of(column, value)
                                  : !number ? entry_of(column, value)
                                            : bin_of(column, value);
                const auto& table =
                    number && column.kind != ScoredColumn::bins ? column.beside : column.table;
                const double* shares = table.data() + static_cast<std::size_t>(entry) * K;
                for (std::size_t k = 0; k < K; ++k) scores_[k] += shares[k];
            } else {
                const double x = number_of(column, value);
                if (x == x && column.kind == ScoredColumn::function) {
                    const auto shares = nb::cast<std::vector<double>>(column.call(x));
                    if (shares.size() != K) throw nb::value_error("one score a class is needed");
                    for (std::size_t k = 0; k < K; ++k) scores_[k] += shares[k];
                    continue;
                }
                if (x == x && column.kind == ScoredColumn::pooled) {
                    const PooledTerms terms{
                        column.low.data(),   column.high.data(),  column.table.data(),
                        static_cast<i64>(column.low.size()),      column.constant.data(),
                        column.mean.data(),  column.scale.data(), column.shift.data(),
                        column.share,        static_cast<i64>(K)};
                    shares_.resize(K);
                    terms.score(x, shares_.data());
                    for (std::size_t k = 0; k < K; ++k) scores_[k] += shares_[k] + column.there[k];
                    continue;
                }
                for (std::size_t k = 0; k < K; ++k) {
                    if (x != x) {
                        scores_[k] += column.gap[k];
                    } else {
                        const double t = (x - column.mean[k]) * column.scale[k];
                        const double slope = x == 0.0 ? 0.0 : x * column.slope[k];
                        scores_[k] += column.constant[k] + slope - t * t;
                    }
                }
            }
        }
        for (auto& group : groups_) found += add_group_scores(group, row);
        if (row.size() > found && has_other_keys(row)) return score(with_text_keys(row));
        return scores_;
    }
    // P(c | x) as a list; empty where every class rules the row out
    nb::list posterior(nb::dict row) {
        score(row);
        const double top = *std::max_element(scores_.begin(), scores_.end());
        nb::list shares;
        if (top == -std::numeric_limits<double>::infinity()) return shares;
        double total = 0.0;
        for (double& s : scores_) total += s = std::exp(s - top);
        for (double s : scores_) shares.append(s / total);
        return shares;
    }
    std::size_t found = 0;  // how many columns the last row had

    // the best class, or −1 − fallback where every class rules the row out
    i64 best(nb::dict row) {
        const auto& scores = score(row);
        const auto top = std::max_element(scores.begin(), scores.end());
        if (*top == -std::numeric_limits<double>::infinity()) return -1 - fallback_;
        return static_cast<i64>(top - scores.begin());
    }

private:
    // how many of a group's columns the row has
    std::size_t add_group_scores(ScoredGroup& group, nb::dict& row) {
        std::size_t found = 0, there = 0;
        for (std::size_t j = 0; j < group.members.size(); ++j) {
            const nb::handle held = value_at(row, group.members[j].name);
            found += held.is_valid();
            group.row[j] = number_of(group.members[j], reader_.read(held));
            there += group.row[j] == group.row[j];
        }
        if (there == group.row.size()) {
            group.terms().score(group.row.data(), scores_.data(), nullptr);
        } else if (there) {
            nb::list values;
            for (double x : group.row) values.append(x);
            const auto shares = nb::cast<std::vector<double>>(group.call(values));
            if (shares.size() != scores_.size()) throw nb::value_error("one score a class is needed");
            for (std::size_t k = 0; k < shares.size(); ++k) scores_[k] += shares[k];
        }
        return found;
    }
    ScoredColumn& add(nb::object name, ScoredColumn::Kind kind) {
        columns_.emplace_back();
        columns_.back().name = name;
        columns_.back().kind = kind;
        columns_.back().dates = dates_.contains(name);
        return columns_.back();
    }
    void take(ScoredColumn& column, const InTable& table) const {
        if (table.shape(1) != prior_.size()) throw nb::value_error("the table has other classes");
        column.table.assign(table.data(), table.data() + table.size());
    }
    void take_texts(ScoredColumn& column, const nb::dict& texts, const InTable& beside) const {
        if (beside.shape(1) != prior_.size()) throw nb::value_error("the table has other classes");
        column.entry = texts;
        column.beside.assign(beside.data(), beside.data() + beside.size());
    }
    void take(ScoredColumn& column, const InVector& constant, const InVector& slope,
              const InVector& mean, const InVector& scale, const InVector& gap) const {
        for (auto* a : {&constant, &slope, &mean, &scale, &gap})
            if (a->shape(0) != prior_.size()) throw nb::value_error("the density has other classes");
        column.constant = values_of(constant), column.slope = values_of(slope);
        column.mean = values_of(mean), column.scale = values_of(scale);
        column.gap = values_of(gap);
    }
    i64 entry_of(ScoredColumn& column, const Value& value) const {
        if (value.what == Value::gap) return 0;
        PyObject* found = PyDict_GetItemWithError(column.entry.ptr(), reader_.text_of(value).ptr());
        if (found) return PyLong_AsLong(found);
        if (PyErr_Occurred()) throw nb::python_error();
        if (column.unseen < 0)
            throw nb::key_error(nb::cast<std::string>(nb::str(column.name)).c_str());
        return column.unseen;
    }
    // the entry of a text beside numbers; one that is not known may be a number itself
    i64 text_of(const ScoredColumn& column, const Value& value) const {
        PyObject* found = PyDict_GetItemWithError(column.entry.ptr(), value.text_value.ptr());
        if (!found && PyErr_Occurred()) throw nb::python_error();
        if (!found) (void)number_of(column, value);
        const i64 entry = PyLong_AsLong(found);
        const auto& table = column.kind == ScoredColumn::bins ? column.table : column.beside;
        if (static_cast<std::size_t>(entry + 1) * prior_.size() > table.size())
            throw nb::value_error("the table has no such entry");
        return entry;
    }
    double number_of(const ScoredColumn& column, const Value& value) const {
        if (value.what == Value::gap) return GAP;
        if (value.what == Value::text || !is_finite(value.number_value)) {
            const std::string name = nb::cast<std::string>(nb::str(column.name));
            throw nb::value_error(
                ("column '" + name + "' of the row holds a text or an infinite number, but it is "
                 "counted as numbers").c_str());
        }
        if (value.is_date != column.dates)
            throw nb::value_error("a date, or no date, where the model has learned the other");
        const double x = value.number_value;
        if (column.least != ANY && (x < 0.0 || (column.least == POSITIVE && x == 0.0))) {
            const std::string name = nb::cast<std::string>(nb::str(column.name));
            throw nb::value_error(("column '" + name + "' of the row holds a number that its family "
                                   "does not take: it must be " +
                                   (column.least == POSITIVE ? "above 0" : "0 or more"))
                                      .c_str());
        }
        return x;
    }
    i64 bin_of(const ScoredColumn& column, const Value& value) const {
        const double x = number_of(column, value);
        if (x != x) return 0;
        return 1 + (std::upper_bound(column.edges.begin(), column.edges.end(), x) - column.edges.begin());
    }

    Reader reader_;
    std::vector<double> prior_, scores_, shares_;
    i64 fallback_;
    nb::dict dates_;  // the names of columns of dates
    std::vector<ScoredColumn> columns_;
    std::vector<ScoredGroup> groups_;
};

}  // namespace

void bind_rows(nb::module_& m) {
    nb::class_<RowCounter>(m, "RowCounter")
        .def(nb::init<nb::list, std::vector<int>, std::vector<int>, std::vector<int>, int, i64,
                      nb::object, nb::object, nb::object>(),
             "names"_a, "holds"_a, "least"_a, "dates"_a, "others"_a, "budget"_a, "convert"_a,
             "as_text"_a, "check_label"_a)
        .def("declare", &RowCounter::declare, "column"_a, "levels"_a, "most"_a)
        .def("add_group", &RowCounter::add_group, "columns"_a)
        .def("hold_classes", &RowCounter::hold_classes, "labels"_a, "count"_a,
             "squared_weights"_a)
        .def("hold_levels", &RowCounter::hold_levels, "column"_a, "levels"_a, "counts"_a)
        .def("hold_numbers", &RowCounter::hold_numbers, "column"_a, "origin"_a, "moments"_a,
             "shift"_a, "keys"_a, "counts"_a)
        .def("forget", &RowCounter::forget, "row"_a, "label"_a, "weight"_a)
        .def("largest", &RowCounter::largest)
        .def("learn", &RowCounter::learn, "row"_a, "label"_a, "weight"_a)
        .def("counted", &RowCounter::counted)
        .def_prop_ro("names", &RowCounter::names)
        .def_ro("holds", &RowCounter::holds)
        .def_ro("rows", &RowCounter::rows);
    nb::class_<RowScorer>(m, "RowScorer")
        .def(nb::init<InVector, i64, nb::list, nb::object, nb::object>(), "log_prior"_a,
             "fallback"_a, "dates"_a, "convert"_a, "as_text"_a)
        .def("add_levels", &RowScorer::add_levels, "name"_a, "entry"_a, "unseen"_a, "table"_a)
        .def("add_bins", &RowScorer::add_bins, "name"_a, "edges"_a, "table"_a, "texts"_a)
        .def("add_quadratic", &RowScorer::add_quadratic, "name"_a, "constant"_a, "slope"_a,
             "mean"_a, "scale"_a, "gap"_a, "least"_a, "texts"_a, "beside"_a)
        .def("add_pooled", &RowScorer::add_pooled, "name"_a, "low"_a, "high"_a, "atoms"_a,
             "constant"_a, "mean"_a, "scale"_a, "shift"_a, "share"_a, "gap"_a, "there"_a,
             "least"_a, "texts"_a, "beside"_a)
        .def("add_function", &RowScorer::add_function, "name"_a, "function"_a, "gap"_a,
             "least"_a, "texts"_a, "beside"_a)
        .def("add_group", &RowScorer::add_group, "names"_a, "mean"_a, "rotation"_a, "constant"_a,
             "freedom"_a.none(), "function"_a)
        .def("posterior", &RowScorer::posterior, "row"_a)
        .def("best", &RowScorer::best, "row"_a)
        .def_ro("found", &RowScorer::found);
}
