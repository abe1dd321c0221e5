// The binding of models that follow documents one by one.
#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/given.hpp"
#include "bind/modules.hpp"
#include "bind/text/documents.hpp"
#include "documents/live.hpp"

using namespace nb::literals;

namespace {

using namespace tb;

constexpr std::size_t LONG_DOCUMENT = 1 << 16;  // bytes from which other threads run meanwhile

// Lets other threads run where documents take a while; a short one would wait for its turn.
template <class F>
auto while_others_run(const TextDocuments& documents, F&& f) {
    std::size_t bytes = 0;
    for (const TextView& view : documents.views) bytes += view.size;
    if (bytes < LONG_DOCUMENT) return f();
    nb::gil_scoped_release release;
    return f();
}

i64 number_of(std::size_t fault) { return fault == NO_FAULT ? -1 : static_cast<i64>(fault); }

class LiveDocuments {
public:
    LiveDocuments(const TextRules& rules, const nb::list& stop_words, u32 buckets)
        : model_(LiveRules{rules, strings_of(stop_words), buckets}), by_bucket_(buckets > 0) {}

    i32 add_class() { return model_.add_class(); }
    void show(InVector<i32> order) {
        std::vector<i32> shown(order.data(), order.data() + order.shape(0));
        for (i32 k : shown) need(k >= 0 && k < model_.classes(), "a class is out of range");
        model_.show(std::move(shown));
    }

    void load(std::optional<InVector<u8>> bytes, InVector<i64> names, InVector<i64> start,
              InVector<i32> classes, InVector<double> counts, std::optional<InVector<double>> sums,
              InVector<double> documents, double pruned) {
        std::vector<u32> nodes = nodes_of(bytes, names);
        const std::size_t pairs = classes.shape(0);
        need_starts(start, static_cast<i64>(nodes.size()));
        need(start.data()[nodes.size()] == static_cast<i64>(pairs), "starts and classes differ");
        need(counts.shape(0) == pairs && (!sums || sums->shape(0) == pairs), "pairs differ");
        need(static_cast<i64>(documents.shape(0)) == model_.classes(), "classes differ");
        for (std::size_t p = 0; p < pairs; ++p)
            need(classes.data()[p] >= 0 && classes.data()[p] < model_.classes(), "a class is out of range");
        nb::gil_scoped_release release;
        for (std::size_t t = 0; t < nodes.size(); ++t)
            for (i64 p = start.data()[t]; p < start.data()[t + 1]; ++p)
                model_.counts.put(nodes[t], classes.data()[p], counts.data()[p],
                                  sums ? sums->data()[p] : 0.0);
        for (std::size_t k = 0; k < documents.shape(0); ++k)
            model_.counts.classes[k].documents = documents.data()[k];
        model_.counts.set_pruned(pruned);
        model_.in_order(std::move(nodes));
        const LiveReading& r = model_.reading;
        if (r.event == LiveEvent::bernoulli && model_.counts.fades()) model_.counts.keep_absent(r.alpha);
    }
    void fix_idf(std::optional<InVector<u8>> bytes, InVector<i64> names, InVector<double> idf,
                 double other) {
        const std::vector<u32> nodes = nodes_of(bytes, names);
        need(idf.shape(0) == nodes.size(), "idf and terms differ");
        model_.fix_idf(nodes, idf.data(), other);
    }

    void fade_by(double half_life) {
        need(half_life > 0.0 && model_.ordered() == 0, "a half-life is above 0, and set before counts");
        model_.counts.fade_by(half_life);
    }
    void read_plain(int event, double alpha, bool sums, bool log_tf, bool idf, bool normalize) {
        LiveReading& r = model_.reading;
        r.event = static_cast<LiveEvent>(event);
        r.alpha = alpha;
        r.sums = sums;
        r.log_tf = log_tf;
        r.idf = idf;
        r.normalize = normalize;
        model_.counts.with_logs = sums && idf && !r.fixed;
        model_.counts.with_same = r.event == LiveEvent::bernoulli && !model_.counts.fades();
    }
    void read_weighted(double tau, bool mass, double power, double mean_length,
                       double min_length, InVector<double> weights, InVector<double> intercept,
                       InVector<float> log_counts) {
        need(static_cast<i64>(intercept.shape(0)) == model_.classes(), "intercepts and classes differ");
        model_.intercept.assign(intercept.data(), intercept.data() + intercept.shape(0));
        LiveReading& r = model_.reading;
        r.event = LiveEvent::weighted;
        r.sums = false;
        r.tau = tau;
        r.mass = mass;
        r.power = power;
        r.mean_length = mean_length;
        r.min_length = min_length;
        r.weights.assign(weights.data(), weights.data() + weights.shape(0));
        r.log_counts.assign(log_counts.data(), log_counts.data() + log_counts.shape(0));
    }
    void read_ridge(InVector<i32> column, InVector<double> idf, InTable<float> u) {
        need(column.shape(0) == idf.shape(0), "columns and idf differ");
        need(column.shape(0) == model_.ordered(), "columns and terms differ");
        const i64 columns = static_cast<i64>(u.shape(0)), width = static_cast<i64>(u.shape(1));
        need(width == 1 || width == model_.shown(), "coefficients and classes differ");
        for (std::size_t t = 0; t < column.shape(0); ++t)
            need(column.data()[t] >= -1 && column.data()[t] < columns, "a column is out of range");
        model_.reading.u.assign(u.data(), u.data() + columns * width);
        model_.reading.ridge_classes = width;
        model_.ridge(column.data(), idf.data());
    }

    i64 fault(const TextDocuments& documents) {
        return while_others_run(documents, [&] { return number_of(model_.fault(documents.views)); });
    }
    i64 learn(const TextDocuments& documents, InVector<i32> codes, InVector<double> weights) {
        need_labels(documents, codes, weights);
        return while_others_run(documents, [&] {
            return number_of(model_.learn(documents.views, codes.data(), weights.data()));
        });
    }
    i64 learn_one(const TextDocuments& documents, i32 code, double weight) {
        need(documents.views.size() == 1 && code >= 0 && code < model_.classes(),
             "one document of a class is learned at a time");
        return while_others_run(
            documents, [&] { return number_of(model_.learn(documents.views, &code, &weight)); });
    }
    // Whether they were taken away, and the number of the first that is not UTF-8.
    nb::tuple forget(const TextDocuments& documents, InVector<i32> codes, InVector<double> weights) {
        need_labels(documents, codes, weights);
        bool done = false;
        const i64 fault = while_others_run(documents, [&] {
            return number_of(model_.forget(documents.views, codes.data(), weights.data(), done));
        });
        return nb::make_tuple(done, fault);
    }

    i64 joint(const TextDocuments& documents, OutTable<double> out) {
        need(out, 0, static_cast<i64>(documents.views.size()), "scores");
        need(out, 1, model_.shown(), "scores");
        return while_others_run(
            documents, [&] { return number_of(model_.score(documents.views, out.data())); });
    }

    nb::object tally() {
        LiveTally found;
        {
            nb::gil_scoped_release release;
            found = model_.tally();
        }
        nb::object bytes = nb::none(), sums = nb::none();
        if (!by_bucket_) bytes = nb::cast(as_array(std::move(found.names.bytes)));
        if (model_.reading.sums) sums = nb::cast(as_array(std::move(found.sums)));
        return nb::make_tuple(bytes, as_array(std::move(by_bucket_ ? found.buckets : found.names.end)),
                              as_array(std::move(found.start)), as_array(std::move(found.classes)),
                              as_array(std::move(found.counts)), sums,
                              as_array(std::move(found.column)), as_array(std::move(found.idf)));
    }
    void pass_one() { model_.pass_one(); }
    double pruned() const { return model_.counts.pruned(); }
    i64 n_terms() const { return model_.counts.terms; }
    nb::object documents() const {
        std::vector<double> found;
        for (std::size_t k = 0; k < model_.counts.classes.size(); ++k)
            found.push_back(model_.counts.documents_of(k));
        return nb::cast(as_array(std::move(found)));
    }
    nb::object intercept() const { return nb::cast(as_array(std::vector<double>(model_.intercept))); }
    double documents_of(i32 k) const {
        need(k >= 0 && k < model_.classes(), "a class is out of range");
        return model_.counts.documents_of(static_cast<std::size_t>(k));
    }

private:
    static std::vector<std::string> strings_of(const nb::list& items) {
        std::vector<std::string> out;
        for (nb::handle item : items) {
            const nb::bytes word = nb::cast<nb::bytes>(item);
            out.emplace_back(word.c_str(), word.size());
        }
        return out;
    }
    std::vector<u32> nodes_of(const std::optional<InVector<u8>>& bytes, const InVector<i64>& names) {
        need(bytes.has_value() != by_bucket_, "terms have names or buckets");
        const i64* at = names.data();
        const std::size_t n = names.shape(0);
        if (by_bucket_) {
            for (std::size_t i = 0; i < n; ++i)
                need(at[i] >= 0 && at[i] < static_cast<i64>(NO_TERM), "a bucket is out of range");
            return model_.known_buckets(at, n);
        }
        need(n >= 1 && at[0] == 0 && at[n - 1] == static_cast<i64>(bytes->shape(0)),
             "terms must begin within the bytes, in order");
        for (std::size_t i = 0; i + 1 < n; ++i)
            need(at[i] <= at[i + 1], "terms must begin within the bytes, in order");
        return model_.known(bytes->data(), at, n - 1);
    }
    void need_labels(const TextDocuments& documents, const InVector<i32>& codes,
                     const InVector<double>& weights) const {
        const std::size_t n = documents.views.size();
        need(codes.shape(0) == n && weights.shape(0) == n, "documents, codes and weights differ");
        for (std::size_t i = 0; i < n; ++i)
            need(codes.data()[i] >= 0 && codes.data()[i] < model_.classes(), "a class is out of range");
    }

    LiveModel model_;
    bool by_bucket_;
};

}  // namespace

void bind_live_documents(nb::module_& m) {
    nb::class_<LiveDocuments>(m, "LiveDocuments")
        .def(nb::init<const TextRules&, const nb::list&, u32>(), "rules"_a, "stop_words"_a, "buckets"_a,
             nb::keep_alive<1, 2>())
        .def("add_class", &LiveDocuments::add_class)
        .def("show", &LiveDocuments::show, "order"_a)
        .def("load", &LiveDocuments::load, "bytes"_a.none(), "names"_a, "start"_a, "classes"_a,
             "counts"_a, "sums"_a.none(), "documents"_a, "pruned"_a)
        .def("fade_by", &LiveDocuments::fade_by, "half_life"_a)
        .def("fix_idf", &LiveDocuments::fix_idf, "bytes"_a.none(), "names"_a, "idf"_a, "other"_a)
        .def("read_plain", &LiveDocuments::read_plain, "event"_a, "alpha"_a, "sums"_a, "log_tf"_a,
             "idf"_a, "normalize"_a)
        .def("read_weighted", &LiveDocuments::read_weighted, "tau"_a, "mass"_a, "power"_a,
             "mean_length"_a, "min_length"_a, "weights"_a, "intercept"_a, "log_counts"_a)
        .def("read_ridge", &LiveDocuments::read_ridge, "column"_a, "idf"_a, "u"_a)
        .def("fault", &LiveDocuments::fault, "documents"_a)
        .def("learn", &LiveDocuments::learn, "documents"_a, "codes"_a, "weights"_a)
        .def("learn_one", &LiveDocuments::learn_one, "documents"_a, "code"_a, "weight"_a)
        .def("forget", &LiveDocuments::forget, "documents"_a, "codes"_a, "weights"_a)
        .def("joint", &LiveDocuments::joint, "documents"_a, "out"_a.noconvert())
        .def("tally", &LiveDocuments::tally)
        .def("pass_one", &LiveDocuments::pass_one)
        .def_prop_ro("pruned", &LiveDocuments::pruned)
        .def_prop_ro("n_terms", &LiveDocuments::n_terms)
        .def("documents", &LiveDocuments::documents)
        .def("intercept", &LiveDocuments::intercept)
        .def("documents_of", &LiveDocuments::documents_of, "k"_a);
}
