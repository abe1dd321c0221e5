// Texts as a form has them (export/form.py): split into terms as Python does, and what terms add.

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
  if (Array.isArray(value) || ArrayBuffer.isView(value) || !value || typeof value !== "object") return value;
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

// One sum over terms, h · Σ x (common + pairs); what each term adds is in the order of the counts.
class Sum {
  constructor(packed, nClasses) {
    Object.assign(this, unpacked(packed));
    this.nClasses = nClasses;
    let last = 0;
    if (this.own) this.cell = this.cell.map((there) => (there ? ++last : 0));
    if (!this.pairs) return;
    this.start = [0];
    for (const size of this.pairs) this.start.push(this.start[this.start.length - 1] + size);
  }

  // f(n), times the factor of the term.
  x(t, n) {
    let x = n;
    if (this.frequency === "presence") x = 1;
    else if (this.frequency === "log") x = Math.log1p(n);
    else if (this.frequency === "single") x = n < this.tf.length ? this.tf[n] : Math.fround(Math.log1p(n));
    return this.by ? x * this.bys[this.by[t]] : x;
  }

  scale(xs) {
    if (this.length === "squares") return 1 / Math.sqrt(xs.reduce((a, x) => a + x * x, 0) || 1);
    if (!this.length) return 1;
    const length = Math.max(xs.reduce((a, x) => a + x, 0), this.shortest);
    return length > 0 ? (length / this.mean) ** -this.power : 1;
  }

  addTo(found, counts) {
    const xs = counts.map(([t, n]) => this.x(t, n));
    const h = this.scale(xs);
    counts.forEach(([t], i) => {
      const x = h * xs[i];
      const width = this.mirrored ? 1 : this.nClasses;
      const at = (this.cell[t] - 1) * width;
      for (let c = 0; at >= 0 && c < this.nClasses; c++) {
        found[i][c] += x * (this.mirrored ? (c ? 1 : -1) * this.common[at] : this.common[at + c]);
      }
      if (!this.start) return;
      for (let q = this.start[t]; q < this.start[t + 1]; q++) found[i][this.classes[q]] += x * this.values[this.value[q]];
    });
  }
}

class Terms {
  constructor({ split, terms, sums, nClasses }) {
    this.splitter = new Splitter(unpacked(split));
    this.names = strings(unpacked(terms));
    this.place = new Map(this.names.map((name, t) => [name, t]));
    this.nClasses = nClasses;
    this.sums = sums.map((packed) => new Sum(packed, nClasses));
  }

  // How often a text has each term that is known, as Map of place to count.
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
    const each = Array.from(counts);
    const found = each.map(() => new Float64Array(this.nClasses));
    for (const sum of this.sums) sum.addTo(found, each);
    return each.map(([t], i) => [t, found[i]]);
  }
}

R.Terms = Terms;
