// The binding of models that follow documents one by one.
#include "bind/texts.hpp"
#include "documents/live.hpp"

namespace {

using namespace tb;

constexpr std::size_t LONG_DOCUMENT = 1 << 16;  // bytes from which other threads run meanwhile

using Bytes = std::optional<InVector<u8>>;

class LiveDocuments {
public:
    LiveDocuments(const TextRules& rules, const nb::list& stop_words, u32 buckets)
        : model_(LiveRules{rules, strings_of(stop_words), buckets}), by_bucket_(buckets > 0) {}

    i32 add_class() { return model_.add_class(); }
    void show(const Codes& order) {
        need_codes(order);
        model_.show(std::vector<i32>(order.data(), order + order.shape(0)));
    }

    void load(const Bytes& bytes, const InVector<i64>& names, const InVector<i64>& start,
              const Codes& classes, const Vector& counts, const std::optional<Vector>& sums,
              const Vector& documents, double pruned) {
        std::vector<u32> nodes = nodes_of(bytes, names);
        const i64 terms = static_cast<i64>(nodes.size()), pairs = classes.shape(0);
        need_starts(start, terms);
        need(start[terms] == pairs, "starts and classes differ");
        need({pairs}, "pairs", counts, sums), need({model_.classes()}, "documents", documents);
        need_codes(classes);
        for (i64 t = 0; t < terms; ++t)
            for (i64 p = start[t]; p < start[t + 1]; ++p)
                model_.counts.put(nodes[t], classes[p], counts[p], sums ? (*sums)[p] : 0.0);
        for (i64 k = 0; k < model_.classes(); ++k)
            model_.counts.classes[static_cast<std::size_t>(k)].documents = documents[k];
        model_.counts.set_pruned(pruned);
        model_.in_order(std::move(nodes));
        const LiveReading& r = model_.reading;
        if (r.event == LiveEvent::bernoulli && model_.counts.fades()) model_.counts.keep_absent(r.alpha);
    }
    void fix_idf(const Bytes& bytes, const InVector<i64>& names, const Vector& idf, double other) {
        const std::vector<u32> nodes = nodes_of(bytes, names);
        need({static_cast<i64>(nodes.size())}, "idf", idf);
        model_.fix_idf(nodes, idf, other);
    }

    void fade_by(double half_life) {
        need(half_life > 0.0 && model_.ordered() == 0, "a half-life is above 0, and set before counts");
        model_.counts.fade_by(half_life);
    }
    void read_plain(int event, double alpha, bool sums, bool log_tf, bool idf, bool normalize) {
        LiveReading& r = model_.reading;
        r.event = static_cast<LiveEvent>(event);
        r.alpha = alpha, r.sums = sums;
        r.log_tf = log_tf, r.idf = idf, r.normalize = normalize;
        model_.counts.with_logs = sums && idf && !r.fixed;
        model_.counts.with_same = r.event == LiveEvent::bernoulli && !model_.counts.fades();
    }
    void read_weighted(double tau, bool mass, double power, double mean_length, double min_length,
                       const Vector& weights, const Vector& intercept,
                       const InVector<float>& log_counts) {
        need({model_.classes()}, "intercept", intercept);
        model_.intercept = values_of(intercept);
        LiveReading& r = model_.reading;
        r.event = LiveEvent::weighted, r.sums = false;
        r.tau = tau, r.mass = mass, r.power = power;
        r.mean_length = mean_length, r.min_length = min_length;
        r.weights = values_of(weights), r.log_counts = values_of(log_counts);
    }
    void read_ridge(const Codes& column, const Vector& idf, const InTable<float>& u) {
        const i64 columns = u.shape(0), width = u.shape(1);
        const i64 terms = static_cast<i64>(model_.ordered());
        need({terms}, "terms", column, idf);
        need(width == 1 || width == model_.shown(), "coefficients and classes differ");
        need(within<i32>(column, terms, -1, columns), "a column is out of range");
        model_.reading.u.assign(u.data(), u + columns * width);
        model_.reading.ridge_classes = width;
        model_.ridge(column, idf);
    }

    i64 fault(const TextDocuments& documents) {
        return number_of(documents, [&] { return model_.fault(documents.views); });
    }
    i64 learn(const TextDocuments& documents, const Codes& codes, const Vector& weights) {
        need_labels(documents, codes, weights);
        return number_of(documents, [&] { return model_.learn(documents.views, codes, weights); });
    }
    i64 learn_one(const TextDocuments& documents, i32 code, double weight) {
        need(documents.views.size() == 1 && code >= 0 && code < model_.classes(),
             "one document of a class is learned at a time");
        return number_of(documents, [&] { return model_.learn(documents.views, &code, &weight); });
    }
    // Whether they were taken away, and the number of the first that is not UTF-8.
    nb::tuple forget(const TextDocuments& documents, const Codes& codes, const Vector& weights) {
        need_labels(documents, codes, weights);
        bool done = false;
        const i64 fault = number_of(
            documents, [&] { return model_.forget(documents.views, codes, weights, done); });
        return nb::make_tuple(done, fault);
    }

    i64 joint(const TextDocuments& documents, const OutTable& out) {
        need({static_cast<i64>(documents.views.size()), model_.shown()}, "scores", out);
        return number_of(documents, [&] { return model_.score(documents.views, out); });
    }

    nb::object tally() {
        LiveTally found = released([&] { return model_.tally(); });
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
    // The number of the first document that is not UTF-8, or −1. Other threads run where documents take
    // a while; a short one would wait for its turn.
    template <class F>
    static i64 number_of(const TextDocuments& documents, F&& f) {
        std::size_t bytes = 0;
        for (const TextView& view : documents.views) bytes += view.size;
        return fault_number(bytes < LONG_DOCUMENT ? f() : released(f));
    }
    std::vector<u32> nodes_of(const Bytes& bytes, const InVector<i64>& names) {
        need(bytes.has_value() != by_bucket_, "terms have names or buckets");
        const i64 n = names.shape(0);
        if (by_bucket_) {
            need(within<i64>(names, n, 0, NO_TERM), "a bucket is out of range");
            return model_.known_buckets(names, static_cast<std::size_t>(n));
        }
        need(n >= 1 && names[n - 1] == bytes->shape(0), "terms must begin within the bytes, in order");
        need_starts(names, n - 1);
        return model_.known(*bytes, names, static_cast<std::size_t>(n - 1));
    }
    void need_codes(const Codes& codes) const {
        need(within<i32>(codes, codes.shape(0), 0, model_.classes()), "a class is out of range");
    }
    void need_labels(const TextDocuments& documents, const Codes& codes,
                     const Vector& weights) const {
        need({static_cast<i64>(documents.views.size())}, "labels", codes, weights);
        need_codes(codes);
    }

    LiveModel model_;
    bool by_bucket_;
};

}  // namespace

void bind_live_documents(nb::module_& m) {
    nb::class_<LiveDocuments> live(m, "LiveDocuments");
    init<const TextRules&, const nb::list&, u32>(live, "rules stop_words buckets",
                                                 nb::keep_alive<1, 2>());
    def(live, "show", &LiveDocuments::show, "order");
    def(live, "load", &LiveDocuments::load, "bytes names start classes counts sums documents pruned",
        without_gil);
    def(live, "fade_by", &LiveDocuments::fade_by, "half_life");
    def(live, "fix_idf", &LiveDocuments::fix_idf, "bytes names idf other");
    def(live, "read_plain", &LiveDocuments::read_plain, "event alpha sums log_tf idf normalize");
    def(live, "read_weighted", &LiveDocuments::read_weighted,
        "tau mass power mean_length min_length weights intercept log_counts");
    def(live, "read_ridge", &LiveDocuments::read_ridge, "column idf u");
    def(live, "fault", &LiveDocuments::fault, "documents");
    def(live, "learn", &LiveDocuments::learn, "documents codes weights");
    def(live, "learn_one", &LiveDocuments::learn_one, "documents code weight");
    def(live, "forget", &LiveDocuments::forget, "documents codes weights");
    def(live, "joint", &LiveDocuments::joint, "documents out");
    def(live, "documents_of", &LiveDocuments::documents_of, "k");
    live.def("add_class", &LiveDocuments::add_class)
        .def("tally", &LiveDocuments::tally)
        .def("pass_one", &LiveDocuments::pass_one)
        .def("documents", &LiveDocuments::documents)
        .def("intercept", &LiveDocuments::intercept)
        .def_prop_ro("pruned", &LiveDocuments::pruned)
        .def_prop_ro("n_terms", &LiveDocuments::n_terms);
}
