// Texts: split into terms as Python does, and scored by the terms that the page has.

const bytes = (b64) => Uint8Array.from(atob(b64), (c) => c.charCodeAt(0));

const wholes = (packed) => {
  const found = [];
  let value = 0;
  let by = 1;
  for (const byte of bytes(packed.whole)) {
    value += (byte & 127) * by;
    by *= 128;
    if (byte < 128) { found.push(value); value = 0; by = 1; }
  }
  return found;
};

const singles = (packed) => new Float32Array(bytes(packed.single).buffer);

const unpacked = (value) => {
  if (Array.isArray(value) || !value || typeof value !== "object") return value;
  if (typeof value.whole === "string") return wholes(value);
  if (typeof value.single === "string") return singles(value);
  if (typeof value.b64 === "string") return R.floats(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
};

// Sorted strings of which each begins as the one before does.
const strings = ({ shared, rest }) => {
  let before = [];
  return rest.map((end, i) => {
    before = before.slice(0, shared[i]).concat(Array.from(end));
    return before.join("");
  });
};

// Whether code points are within ranges, which are distances between their edges.
const within = (distances) => {
  const edges = [];
  let at = 0;
  for (const d of distances) { at += d; edges.push(at); }
  return (point) => {
    let low = 0;
    let high = edges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= point) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1;
  };
};

class Splitter {
  constructor(rules) {
    Object.assign(this, rules);
    this.isWord = within(rules.word);
    this.isSpace = within(rules.space);
    this.isCombining = rules.combining ? within(rules.combining) : null;
    this.dropped = new Set(rules.stop);
  }

  isAlone(point) { return this.alone.some(([low, high]) => point >= low && point <= high); }

  folded(text) {
    let found = this.lowercase ? text.toLowerCase() : text;
    if (!this.accents) return found;
    found = found.normalize("NFKD");
    if (this.accents === "ascii") return Array.from(found).filter((c) => c.codePointAt(0) < 128).join("");
    return Array.from(found).filter((c) => !this.isCombining(c.codePointAt(0))).join("");
  }

  // The words, marks or characters that n-grams are made of; within words, each word with a blank on either side.
  units(text) {
    const characters = Array.from(this.folded(text));
    if (this.unit === "char") return this.spaced(characters);
    if (this.unit === "char_wb") return this.words(this.spaced(characters));
    const found = [];
    let word = "";
    const end = () => { if (word && (this.pattern !== "words" || Array.from(word).length > 1)) found.push(word); word = ""; };
    for (const c of characters) {
      const point = c.codePointAt(0);
      if (this.isWord(point) && !this.isAlone(point)) { word += c; continue; }
      end();
      if (this.pattern !== "words" && !this.isSpace(point)) found.push(c);
    }
    end();
    return this.dropped.size ? found.filter((token) => !this.dropped.has(token)) : found;
  }

  // Two and more blanks become one.
  spaced(characters) {
    const found = [];
    for (let i = 0; i < characters.length; i++) {
      if (!this.isSpace(characters[i].codePointAt(0))) { found.push(characters[i]); continue; }
      let end = i;
      while (end + 1 < characters.length && this.isSpace(characters[end + 1].codePointAt(0))) end++;
      found.push(end > i ? " " : characters[i]);
      i = end;
    }
    return found;
  }

  words(characters) {
    const found = [];
    let word = "";
    for (const c of [...characters, " "]) {
      if (!this.isSpace(c.codePointAt(0))) word += c;
      else if (word) { found.push(` ${word} `); word = ""; }
    }
    return found;
  }

  // use(term) for every n-gram.
  each(units, use) {
    const [low, high] = this.ngrams;
    if (this.unit === "char_wb") {
      for (const unit of units) {
        const word = Array.from(unit);
        for (let n = low; n <= high; n++) {
          for (let i = 0; i === 0 || i + n <= word.length; i++) use(word.slice(i, i + n).join(""));
          if (n >= word.length) break; // a word that is shorter counts once
        }
      }
      return;
    }
    const between = this.unit === "char" ? "" : " ";
    for (let n = low; n <= Math.min(high, units.length); n++) {
      for (let i = 0; i + n <= units.length; i++) use(units.slice(i, i + n).join(between));
    }
  }
}

class TextModel {
  constructor(form) {
    Object.assign(this, unpacked(form));
    this.splitter = new Splitter(this.split);
    this.names = strings(this.terms);
    this.place = new Map(this.names.map((name, t) => [name, t]));
    this.nClasses = this.base.length;
    const n = this.names.length;
    this.start = new Array(n + 1).fill(0);
    for (let t = 0; t < n; t++) this.start[t + 1] = this.start[t] + this.pairs[t];
    if (this.kind === "weighted") this.prepare();
  }

  prepare() {
    const k = this.nClasses;
    this.expected = Array.from(this.cellRows, (rows, i) => {
      const of = Array.from(this.share, (s) => -this.cellWeight[i] * Math.log(rows * s + this.tau));
      const mean = of.reduce((a, b) => a + b, 0) / k;
      return of.map((v) => v - mean);
    });
    if (!this.ridge) return;
    let next = 0;
    this.column = this.ridge.there.map((there) => (there ? next++ : -1));
    this.perColumn = next ? this.ridge.u.length / next : k;
  }

  // How often a text has each term that the page has, as Map of place to count.
  count(units) {
    const found = new Map();
    this.splitter.each(units, (term) => {
      const t = this.place.get(term);
      if (t !== undefined) found.set(t, (found.get(t) ?? 0) + 1);
    });
    return found;
  }

  counts(text) { return this.count(this.splitter.units(text)); }

  // What each term adds to the score of each class: [place, Float64Array].
  contributions(counts) {
    return this.kind === "weighted" ? this.weighted(counts) : this.linear(counts);
  }

  addPairs(t, by, found) {
    for (let q = this.start[t]; q < this.start[t + 1]; q++) found[this.classes[q]] += by * this.values[this.value[q]];
  }

  weighted(counts) {
    const k = this.nClasses;
    const tf = (n) => (n < this.tf.length ? this.tf[n] : Math.fround(Math.log1p(n)));
    const idf = (t) => this.ridge.idfs[this.ridge.idf[t]];
    let length = 0;
    let squares = 0;
    for (const [t, n] of counts) {
      length += tf(n);
      if (this.ridge) squares += (tf(n) * idf(t)) ** 2;
    }
    const byLength = length > 0 ? (length / this.meanLength) ** -this.power : 1;
    const byRidge = squares > 0 ? 1 / Math.sqrt(squares) : 0;
    return Array.from(counts, ([t, n]) => {
      const found = Float64Array.from(this.expected[this.cell[t]], (v) => byLength * tf(n) * v);
      this.addPairs(t, byLength * tf(n), found);
      if (this.ridge && this.column[t] >= 0) {
        const by = byRidge * tf(n) * idf(t);
        const at = this.column[t] * this.perColumn;
        if (this.perColumn === k) for (let c = 0; c < k; c++) found[c] += by * this.ridge.u[at + c];
        else { found[0] -= 0.5 * by * this.ridge.u[at]; found[1] += 0.5 * by * this.ridge.u[at]; }
      }
      return [t, found];
    });
  }

  linear(counts) {
    let values = Array.from(counts, ([t, n]) => {
      if (this.occurs) return [t, 1];
      const value = this.logTf ? Math.log1p(n) : n;
      return [t, this.fixed ? value * this.fixed[t] : value];
    });
    if (this.normalize) {
      const size = Math.sqrt(values.reduce((a, [, v]) => a + v * v, 0)) || 1;
      values = values.map(([t, v]) => [t, v / size]);
    }
    return values.map(([t, v]) => {
      const x = this.idf ? v * this.idf[t] : v;
      const found = Float64Array.from(this.each, (each, c) => x * (each + (this.row ? this.row[t] * this.read[c] : 0)));
      this.addPairs(t, x, found);
      return [t, found];
    });
  }

  predict(counts) {
    const contributions = this.contributions(counts);
    const scores = Array.from(this.base);
    for (const [, said] of contributions) for (let c = 0; c < scores.length; c++) scores[c] += said[c];
    return { contributions, scores, proba: this.probabilities(scores) };
  }

  probabilities(scores) {
    if (!scores.some((v) => v > -Infinity)) return scores.map(() => 1 / scores.length);
    const total = R.logSumExp(scores);
    return scores.map((v) => Math.exp(v - total));
  }
}

R.TextModel = TextModel;

// Steps of a prediction: the terms, the largest first.
R.textSteps = (model, counts, found, favour, against) => {
  const steps = found.contributions.map(([t, said]) => {
    const n = counts.get(t);
    return [model.names[t], n > 1 ? `× ${n}` : "", said[favour] - said[against]];
  }).filter((step) => step[2] !== 0 && !Number.isNaN(step[2])).sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  const rest = steps.slice(14);
  return {
    favour, against, base: model.base[favour] - model.base[against], steps: steps.slice(0, 14), all: steps,
    rest: rest.reduce((sum, step) => sum + step[2], 0), nRest: rest.length,
  };
};
