// Rows into scores, one at a time: from a Python dict to a class, without a frame.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bind/rows.hpp"
#include "score/pooled.hpp"
#include "score/columns.hpp"

namespace {

using namespace tb;

struct ScoredColumn {
    nb::object name;
    enum Kind { levels, bins, quadratic, pooled, function } kind = function;
    nb::dict entry;              // text → entry of the table; of numbers, the strings beside them
    nb::dict numbers;            // levels: the same of numbers among booleans, before those
    i64 unseen = 0;              // levels: the entry of a string it does not hold, −1 to refuse
    std::vector<double> edges;   // bins
    std::vector<double> table;   // levels and bins: (entries, classes), entry 0 the missing value;
                                 // function: (counts, classes), what 0, 1, … say
    std::vector<double> beside;  // densities: (entries, classes): missing, a number, strings
    std::vector<double> constant, slope, mean, scale, missing;  // densities: (classes,) each
    std::vector<double> low, high, shift, there;  // pooled: of atoms, and (classes,) each
    double share = 0.0;          // pooled
    nb::object call;             // function
    int least = ANY;             // what its numbers may be
    bool dates = false;          // whether its numbers are dates
    bool watched = false;        // whether an odd value of it is to be warned of
    i64 at = 0;                  // levels and bins: the entry of the last row
};

struct ScoredGroup {  // columns that are scored together
    std::vector<ScoredColumn> members;
    std::vector<double> mean, rotation, constant, freedom, row;
    nb::object call;  // of rows with missing values, NaN
    i64 classes = 0;

    Triangular terms() const {
        return {mean.data(), rotation.data(), constant.data(),
                freedom.empty() ? nullptr : freedom.data(), classes,
                static_cast<i64>(members.size())};
    }
};

// Columns of levels or bins, of which entries together have scores.
struct ScoredTogether {
    struct Member {
        std::size_t column;
        std::vector<i32> coarser;  // of each entry; −1 for none
        i64 size;                  // how many coarser entries there are
    };
    std::vector<Member> members;
    std::vector<double> table;  // (joint entries, classes)
};

class RowScorer {
public:
    RowScorer(const Vector& log_prior, i64 fallback, nb::list dates, nb::object convert,
              nb::object as_text)
        : reader_{convert, as_text}, prior_(values_of(log_prior)), fallback_(fallback) {
        for (nb::handle name : dates) dates_[name] = nb::none();
    }

    // `numbers` are the entries of numbers that are called otherwise than strings of their digits
    void add_levels(nb::object name, nb::dict entry, i64 unseen, const Table& table,
                    nb::dict numbers) {
        ScoredColumn& column = add(name, ScoredColumn::levels);
        column.entry = entry, column.unseen = unseen, column.numbers = numbers;
        column.table = table_of(table);
    }
    void add_bins(nb::object name, const Vector& edges, const Table& table, nb::dict strings) {
        ScoredColumn& column = add(name, ScoredColumn::bins);
        column.edges = values_of(edges), column.entry = strings, column.table = table_of(table);
        need(table.shape(0) >= edges.shape(0) + 2 + static_cast<i64>(strings.size()),
             "edges do not fit the table");
    }
    // constant + slope·x − ((x − mean)·scale)²; x = 0 has no slope, which may be −inf
    void add_quadratic(nb::object name, const Vector& constant, const Vector& slope,
                       const Vector& mean, const Vector& scale, const Vector& missing, int least,
                       nb::dict strings, const Table& beside) {
        ScoredColumn& column =
            add_density(name, ScoredColumn::quadratic, missing, least, strings, beside);
        need({classes()}, "the density", constant, slope, mean, scale);
        column.constant = values_of(constant), column.slope = values_of(slope);
        column.mean = values_of(mean), column.scale = values_of(scale);
    }
    // a density beside atoms; see PooledTerms
    void add_pooled(nb::object name, const Vector& low, const Vector& high, const Table& atoms,
                    const Vector& constant, const Vector& mean, const Vector& scale,
                    const Vector& shift, double share, const Vector& missing, const Vector& there,
                    int least, nb::dict strings, const Table& beside) {
        ScoredColumn& column =
            add_density(name, ScoredColumn::pooled, missing, least, strings, beside);
        need({classes()}, "the density", constant, mean, scale, shift, there);
        need({low.shape(0)}, "atoms", high, atoms);
        column.constant = values_of(constant), column.mean = values_of(mean);
        column.scale = values_of(scale), column.shift = values_of(shift);
        column.there = values_of(there), column.table = table_of(atoms), column.share = share;
        column.low = values_of(low), column.high = values_of(high);
    }
    // anything else: a function from a number to a score for each class. `counts` has what it gives
    // for 0, 1, …, as far as that is known: these are looked up
    void add_function(nb::object name, nb::object function, const Vector& missing, int least,
                      nb::dict strings, const Table& beside, const Table& counts) {
        ScoredColumn& column =
            add_density(name, ScoredColumn::function, missing, least, strings, beside);
        column.table = table_of(counts), column.call = function;
    }

    // a triangular score of several columns; `function` takes the list of their values, NaN for
    // missing values, and gives a score for each class
    void add_group(nb::list names, const Table& mean, const Array<const double, 3>& rotation,
                   const Table& constant, const std::optional<Vector>& freedom,
                   nb::object function) {
        const i64 K = classes(), d = static_cast<i64>(nb::len(names));
        need({K, d}, "the group", mean, constant), need({K, d, d}, "the group", rotation);
        need({K}, "the group", freedom);
        ScoredGroup group;
        for (nb::handle name : names) {
            group.members.emplace_back();
            group.members.back().name = nb::borrow(name);
        }
        group.mean = values_of(mean), group.rotation = values_of(rotation);
        group.constant = values_of(constant);
        if (freedom) group.freedom = values_of(*freedom);
        group.row.resize(group.members.size()), group.call = function, group.classes = K;
        groups_.push_back(std::move(group));
    }

    // columns of levels or bins, by the order in which they were added; the coarser entries of the
    // last are next to each other in the table
    void add_joint(const std::vector<std::size_t>& columns, const std::vector<Codes>& coarser,
                   const std::vector<i64>& sizes, const Table& table) {
        const char* misfit = "the table does not fit the columns that it is of";
        need(columns.size() == coarser.size() && columns.size() == sizes.size(), misfit);
        ScoredTogether together;
        i64 cells = 1;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::size_t j = columns[i];
            const i64 n = coarser[i].shape(0);
            need(sizes[i] > 0 && cells <= table.shape(0) && j < columns_.size() &&
                     n == static_cast<i64>(columns_[j].table.size()) / classes() &&
                     within<i32>(coarser[i], n, std::numeric_limits<i32>::min(), sizes[i]),
                 misfit);
            cells *= sizes[i];
            together.members.push_back({j, values_of(coarser[i]), sizes[i]});
        }
        need(cells == table.shape(0), misfit);
        together.table = table_of(table);
        together_.push_back(std::move(together));
    }
    // P' = (1 − share)·P + share·prior, at most `most`, in place of P
    void mix(double share, const Vector& prior, double most) {
        need({classes()}, "the prior", prior);
        share_ = share, mixed_ = values_of(prior), most_ = most;
    }
    // names of columns whose odd values are warned of: fractions among counts, new levels
    void watch(nb::list names) {
        for (nb::handle name : names) {
            const auto same = [&](ScoredColumn& column) { return column.name.equal(name); };
            const auto column = std::find_if(columns_.begin(), columns_.end(), same);
            if (column == columns_.end()) watches_others_ = true;
            else column->watched = true;
        }
    }

    const std::vector<double>& score(nb::dict row) {
        const std::size_t K = prior_.size();
        scores_ = prior_;
        found = 0, doubtful = watches_others_;
        for (auto& column : columns_) {
            const nb::handle held = value_at(row, column.name);
            found += held.is_valid();
            const Value value = reader_.read(held);
            const bool levels = column.kind == ScoredColumn::levels;
            const bool bins = column.kind == ScoredColumn::bins;
            const bool beside = !levels && value.what == Value::text;
            if (beside || levels || bins) {
                column.at = beside   ? text_of(column, value)
                            : levels ? entry_of(column, value)
                                     : bin_of(column, value);
                const auto& table = levels || bins ? column.table : column.beside;
                add(table.data() + static_cast<std::size_t>(column.at) * K);
                continue;
            }
            const double x = number_of(column, value);
            if (x != x) {
                add(column.missing.data());
            } else if (column.kind == ScoredColumn::function) {
                const double* known = known_of(column, x);
                known ? add(known) : add(column.call(x));
            } else if (column.kind == ScoredColumn::pooled) {
                const PooledTerms terms{
                    column.low.data(),   column.high.data(),  column.table.data(),
                    static_cast<i64>(column.low.size()),      column.constant.data(),
                    column.mean.data(),  column.scale.data(), column.shift.data(),
                    column.share,        static_cast<i64>(K)};
                shares_.resize(K);
                terms.score(x, shares_.data());
                for (std::size_t k = 0; k < K; ++k) scores_[k] += shares_[k] + column.there[k];
            } else {
                for (std::size_t k = 0; k < K; ++k) {
                    const double t = (x - column.mean[k]) * column.scale[k];
                    const double slope = x == 0.0 ? 0.0 : x * column.slope[k];
                    scores_[k] += column.constant[k] + slope - t * t;
                }
            }
        }
        for (auto& group : groups_) found += add_group_scores(group, row);
        for (const auto& together : together_) {
            i64 cell = 0;
            for (const auto& member : together.members) {
                const auto entry = static_cast<std::size_t>(columns_[member.column].at);
                const i64 coarser = member.coarser[entry];
                cell = cell < 0 || coarser < 0 ? -1 : cell * member.size + coarser;
            }
            if (cell >= 0) add(together.table.data() + static_cast<std::size_t>(cell) * K);
        }
        if (row.size() > found && has_other_keys(row)) return score(with_text_keys(row));
        doubtful |= found == 0 && row.size() > 0;
        return scores_;
    }
    // P(c | x) as a list; empty where every class rules the row out
    nb::list posterior(nb::dict row) {
        if (reader_.busy) return elsewhere(&RowScorer::posterior, row);
        nb::list shares;
        score(row);
        if (normalise())
            for (double p : scores_) shares.append(p);
        return shares;
    }
    std::size_t found = 0;  // how many columns the last row had
    bool doubtful = false;  // whether there may be something to warn of in it

    // the best class, or −1 − fallback where every class rules the row out
    i64 best(nb::dict row) {
        if (reader_.busy) return elsewhere(&RowScorer::best, row);
        score(row);
        if (share_ > 0.0) normalise();
        const auto top = std::max_element(scores_.begin(), scores_.end());
        if (*top == -std::numeric_limits<double>::infinity()) return -1 - fallback_;
        return static_cast<i64>(top - scores_.begin());
    }

private:
    // Asks a copy, in the middle of another row.
    template <class Answer>
    Answer elsewhere(Answer (RowScorer::*ask)(nb::dict), nb::dict row) {
        RowScorer other(*this);
        other.reader_.busy = false;
        const Answer answer = (other.*ask)(row);
        found = other.found, doubtful = other.doubtful;
        return answer;
    }
    // adds scores of the classes
    void add(const double* shares) {
        for (std::size_t k = 0; k < scores_.size(); ++k) scores_[k] += shares[k];
    }
    void add(const nb::object& answer) {
        const auto shares = nb::cast<std::vector<double>>(answer);
        need(shares.size() == scores_.size(), "one score a class is needed");
        add(shares.data());
    }
    // scores to P(c | x) in place; false where every class rules the row out
    bool normalise() {
        const double top = *std::max_element(scores_.begin(), scores_.end());
        if (top == -std::numeric_limits<double>::infinity()) return false;
        double total = 0.0;
        for (double& s : scores_) total += s = std::exp(s - top);
        for (double& s : scores_) s /= total;
        for (std::size_t k = 0; share_ > 0.0 && k < scores_.size(); ++k)
            scores_[k] = std::min(scores_[k] * (1.0 - share_) + share_ * mixed_[k], most_);
        return true;
    }
    // the scores of a count that is in the table of its function
    const double* known_of(const ScoredColumn& column, double x) const {
        const auto known = static_cast<double>(column.table.size() / prior_.size());
        if (!(x >= 0.0 && x < known) || x != std::floor(x)) return nullptr;
        return column.table.data() + static_cast<std::size_t>(x) * prior_.size();
    }
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
            add(group.call(values));
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
    // a column of numbers, with strings beside them
    ScoredColumn& add_density(nb::object name, ScoredColumn::Kind kind, const Vector& missing,
                              int least, const nb::dict& strings, const Table& beside) {
        ScoredColumn& column = add(name, kind);
        need({classes()}, "the density", missing);
        column.missing = values_of(missing), column.least = least;
        column.entry = strings, column.beside = table_of(beside);
        return column;
    }
    i64 classes() const { return static_cast<i64>(prior_.size()); }
    std::vector<double> table_of(const Table& table) const {
        need({table.shape(0), classes()}, "the table", table);
        return values_of(table);
    }
    i64 entry_of(const ScoredColumn& column, const Value& value) {
        if (value.what == Value::missing) return 0;
        nb::object made;
        const nb::handle level = reader_.text_of(value, made);
        PyObject* found = nullptr;
        if (value.what == Value::number && column.numbers.size())
            found = PyDict_GetItemWithError(column.numbers.ptr(), level.ptr());
        if (!found) found = PyDict_GetItemWithError(column.entry.ptr(), level.ptr());
        if (found) return PyLong_AsLong(found);
        if (PyErr_Occurred()) throw nb::python_error();
        if (column.unseen < 0)
            throw nb::key_error(nb::cast<std::string>(nb::str(column.name)).c_str());
        doubtful |= column.watched;
        return column.unseen;
    }
    // the entry of a string beside numbers; one that is not known may be a number itself
    i64 text_of(const ScoredColumn& column, const Value& value) {
        PyObject* found = PyDict_GetItemWithError(column.entry.ptr(), value.text_value.ptr());
        if (!found && PyErr_Occurred()) throw nb::python_error();
        if (!found) (void)number_of(column, value);
        const i64 entry = PyLong_AsLong(found);
        const auto& table = column.kind == ScoredColumn::bins ? column.table : column.beside;
        if (static_cast<std::size_t>(entry + 1) * prior_.size() > table.size())
            throw nb::value_error("the table has no such entry");
        return entry;
    }
    double number_of(const ScoredColumn& column, const Value& value) {
        if (value.what == Value::missing) return MISSING;
        if (value.what == Value::text || !is_finite(value.number_value))
            refuse(column.name, "a string or an infinite number, but it is counted as numbers");
        if (value.is_date != column.dates)
            throw nb::value_error("a date, or no date, where the model has learned the other");
        const double x = value.number_value;
        if (column.least != ANY && (x < 0.0 || (column.least == POSITIVE && x == 0.0)))
            refuse(column.name, std::string("a number that its family does not take: it must be ") +
                                    (column.least == POSITIVE ? "above 0" : "0 or more"));
        doubtful |= column.watched && x != std::floor(x);
        return x;
    }
    i64 bin_of(const ScoredColumn& column, const Value& value) {
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
    std::vector<ScoredTogether> together_;
    std::vector<double> mixed_;
    double share_ = 0.0, most_ = 1.0;
    bool watches_others_ = false;  // columns that have no part in the score
};

}  // namespace

void bind_row_scorer(nb::module_& m) {
    nb::class_<RowScorer> scorer(m, "RowScorer");
    init<Vector, i64, nb::list, nb::object, nb::object>(
        scorer, "log_prior fallback dates convert as_text");
    def(scorer, "add_levels", &RowScorer::add_levels, "name entry unseen table numbers");
    def(scorer, "add_bins", &RowScorer::add_bins, "name edges table strings");
    def(scorer, "add_quadratic", &RowScorer::add_quadratic,
        "name constant slope mean scale missing least strings beside");
    def(scorer, "add_pooled", &RowScorer::add_pooled,
        "name low high atoms constant mean scale shift share missing there least strings beside");
    def(scorer, "add_function", &RowScorer::add_function,
        "name function missing least strings beside counts");
    def(scorer, "add_group", &RowScorer::add_group, "names mean rotation constant freedom function");
    def(scorer, "add_joint", &RowScorer::add_joint, "columns coarser sizes table");
    def(scorer, "mix", &RowScorer::mix, "share prior most");
    def(scorer, "watch", &RowScorer::watch, "names");
    def(scorer, "posterior", &RowScorer::posterior, "row");
    def(scorer, "best", &RowScorer::best, "row");
    scorer.def_ro("doubtful", &RowScorer::doubtful).def_ro("found", &RowScorer::found);
}
