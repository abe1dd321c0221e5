// Rows into counts, one at a time: from a Python dict to a pending tally, without a frame.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "bind/rows.hpp"
#include "count/cross.hpp"
#include "count/grid.hpp"
#include "count/moments.hpp"

namespace {

using namespace tb;

struct ClassMoments {
    double n = 0, n_lo = 0, s1_hi = 0, s1_lo = 0, s2_hi = 0, s2_lo = 0;
    void add(double x, double origin, double w) {
        add_exactly(n, n_lo, w);
        const Double2 delta = exact_sum(x, -origin), weighted = delta * Double2{w, 0.0};
        const Double2 a = Double2{s1_hi, s1_lo} + weighted;
        const Double2 b = Double2{s2_hi, s2_lo} + weighted * delta;
        s1_hi = a.hi, s1_lo = a.lo, s2_hi = b.hi, s2_lo = b.lo;
    }
    // The sum of squares about the mean.
    double squares() const {
        if (!(n > 0.0)) return 0.0;
        const Double2 mean = Double2{s1_hi, s1_lo} / Double2{n, n_lo};
        return (Double2{s2_hi, s2_lo} + -(mean * Double2{s1_hi, s1_lo})).hi;
    }
};

// Whether a count can lose `w` without a look at what rounding has left: whole rows are left, or none.
inline bool can_lose(double held, double w) { return held == w || held - w >= 0x1p-30 * held; }

struct CountedColumn {
    nb::object name;
    int holds;
    int least = ANY;       // what its numbers may be
    int dates = UNKNOWN;   // whether its values are dates
    std::size_t most = std::numeric_limits<std::size_t>::max();  // how many levels it may have
    // strings: the count of each level in each class
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
        need_idle();
        if (!(w >= 0.0 && is_finite(w))) throw nb::value_error("a weight is finite, and 0 or more");
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
    void hold_classes(nb::list labels, const Vector& count, const Vector& squared_weights) {
        for (nb::handle label : labels) rank_of(class_rank_, label, classes_);
        class_count_ = values_of(count), squared_weights_ = values_of(squared_weights);
        holds = true;
    }
    void hold_levels(std::size_t j, nb::list levels, const Table& counts) {  // (levels, classes)
        CountedColumn& column = columns_.at(j);
        const i64 K = static_cast<i64>(classes_.size());
        need({static_cast<i64>(nb::len(levels)), K}, "counts", counts);
        const double* row = counts;
        for (nb::handle name : levels) {
            level(column, rank_of(column.rank, name, column.levels)).assign(row, row + K);
            row += K;
        }
    }
    // moments (classes, 6) in the order of `counted`; counts (classes, cells); the largest sum of
    // squares that was held before
    void hold_numbers(std::size_t j, double origin, const Table& moments, int shift,
                      const InVector<i64>& keys, const Table& counts, double largest) {
        CountedColumn& column = columns_.at(j);
        const i64 K = static_cast<i64>(classes_.size()), cells = keys.shape(0);
        need({K, 6}, "moments", moments), need({K, cells}, "counts", counts);
        column.started = true, column.origin = origin, column.largest = largest;
        for (i64 k = 0; k < K; ++k) {
            const double* m = moments + 6 * k;
            column.moments.push_back({m[0], m[5], m[1], m[2], m[3], m[4]});
            column.largest = std::max(column.largest, m[3]);
            column.grids.emplace_back(1, budget_, shift);
            for (i64 i = 0; i < cells; ++i)
                if (const double count = counts[k * cells + i]; count != 0.0)
                    column.grids.back().hold(keys[i], 0, count);
        }
    }
    // Takes a row away. False, and nothing is changed, where more would be taken than is held, or
    // where rounding has to be looked at: reading the tally decides then.
    bool forget(nb::dict row, nb::handle label, double w) {
        need_idle();
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
    // its origin and n, n's rest, S1 and S2 (each hi and lo) of each class, or None; without some columns
    nb::tuple counted(nb::frozenset without) const {
        need_idle();
        nb::list columns;
        for (auto& column : columns_) {
            if (without.contains(column.name)) continue;
            if (!column.levels.empty()) {
                const std::size_t K = classes_.size();
                std::vector<double> counts(column.levels.size() * K);  // [level][class]
                for (std::size_t i = 0; i < column.counts.size(); ++i)
                    std::copy(column.counts[i].begin(), column.counts[i].end(), &counts[i * K]);
                columns.append(nb::make_tuple(column.name, static_cast<int>(TEXTS),
                                              list_of(column.levels), as_array(counts)));
            }
            if (column.started) {
                std::vector<double> moments;
                nb::list grids;
                for (std::size_t k = 0; k < column.moments.size(); ++k) {
                    const ClassMoments& m = column.moments[k];
                    moments.insert(moments.end(), {m.n, m.s1_hi, m.s1_lo, m.s2_hi, m.s2_lo, m.n_lo});
                    const GridTable& g = column.grids[k];
                    grids.append(nb::make_tuple(g.shift, as_array(g.keys), as_array(g.counts)));
                }
                columns.append(nb::make_tuple(column.name, static_cast<int>(NUMBERS),
                                              column.origin, as_array(moments), grids, column.dates == DATES));
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
                classes.append(as_array(flat));
            }
            groups.append(nb::make_tuple(as_array(group.origin), classes));
        }
        return nb::make_tuple(list_of(classes_), as_array(class_count_),
                              as_array(squared_weights_), columns, groups);
    }

    nb::list names() const {
        nb::list all;
        for (auto& column : columns_) all.append(column.name);
        return all;
    }

    i64 rows = 0;
    bool holds = false;  // whether the counts are those of a tally, and not only of these rows

private:
    // A value that is being read may use the model, in the middle of its row.
    void need_idle() const {
        if (reader_.busy)
            throw std::runtime_error("a value of a row used the model that was learning this row: it must not");
    }
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
        // less may be what rounding has left
        return left.n == 0.0 || left.squares() > 0x1p-60 * column.largest;
    }
    void add_column(nb::handle name, int holds, int least, int dates) {
        CountedColumn column;
        column.name = nb::borrow(name);
        column.holds = holds, column.least = least, column.dates = dates;
        columns_.push_back(std::move(column));
        known_[name] = nb::none();
        codes_.push_back(-1), values_.push_back(MISSING), dates_.push_back(dates);
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
        codes_[j] = -1, values_[j] = MISSING, dates_[j] = column.dates;
        if (column.holds == IGNORED) return value_at(row, column.name).is_valid();
        const nb::handle held = value_at(row, column.name);
        const Value value = reader_.read(held);
        if (value.what == Value::missing) return held.is_valid();
        if (column.holds == UNDECIDED)
            refuse(column.name, "the first value of a column whose family its type decides");
        if (column.dates == UNKNOWN)
            dates_[j] = value.is_date ? DATES : PLAIN;
        else if (column.dates != ANY_DATES && value.is_date != (column.dates == DATES))
            refuse(column.name, "a date, or no date, where the column held the other");
        if (column.holds == TEXTS || (column.holds == EITHER && value.what == Value::text)) {
            nb::object made;
            const nb::handle level = reader_.text_of(value, made);
            if (column.levels.size() >= column.most && !column.rank.contains(level))
                refuse(column.name, "a level that is not declared, or one too many");
            codes_[j] = rank_of(column.rank, level, column.levels);
        } else if (value.what == Value::number) {
            const double x = value.number_value;
            if (!is_finite(x) || !is_finite(x * x))
                refuse(column.name, "an infinite or too large number; replace it, or rescale");
            if (column.started) {
                const double apart = x - column.origin;
                const double sum = k < column.moments.size() ? column.moments[k].s2_hi : 0.0;
                if (!is_finite(sum + w * apart * apart))
                    refuse(column.name, "a number with which the sum of squares overflows; rescale");
            }
            if (column.least != ANY && !(x >= 0.0)) refuse(column.name, "a negative number");
            if (column.least == POSITIVE && x == 0.0)
                refuse(column.name, "a zero, but the column is declared positive");
            values_[j] = x;
        } else {
            refuse(column.name, "a string, but the column is counted as numbers");
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
                refuse(columns_[group.members[at]].name,
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

}  // namespace

void bind_row_counter(nb::module_& m) {
    nb::class_<RowCounter> counter(m, "RowCounter");
    init<nb::list, std::vector<int>, std::vector<int>, std::vector<int>, int, i64, nb::object,
         nb::object, nb::object>(
        counter, "names holds least dates others budget convert as_text check_label");
    def(counter, "declare", &RowCounter::declare, "column levels most");
    def(counter, "add_group", &RowCounter::add_group, "columns");
    def(counter, "hold_classes", &RowCounter::hold_classes, "labels count squared_weights");
    def(counter, "hold_levels", &RowCounter::hold_levels, "column levels counts");
    def(counter, "hold_numbers", &RowCounter::hold_numbers,
        "column origin moments shift keys counts largest");
    def(counter, "forget", &RowCounter::forget, "row label weight");
    def(counter, "learn", &RowCounter::learn, "row label weight");
    def(counter, "counted", &RowCounter::counted, "without");
    counter.def("largest", &RowCounter::largest)
        .def_prop_ro("names", &RowCounter::names)
        .def_ro("holds", &RowCounter::holds)
        .def_ro("rows", &RowCounter::rows);
}
