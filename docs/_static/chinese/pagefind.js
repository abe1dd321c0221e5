// Pagefind for Chinese: cuts a query as the index was cut.
//
// Pagefind's index is cut into words by a dictionary of its own, and a query by that of the browser,
// which knows others: 拉普拉斯 is 拉普 and 拉斯 there, and four words here, of which 普 begins none. A
// piece of a query finds the words that begin with it. So a query is cut here into the longest
// pieces that find something, and Pagefind leaves it so.
import * as pagefind from "../../../pagefind/pagefind.js";
export * from "../../../pagefind/pagefind.js";

const HAN = /(\p{Script=Han}+)/u;
const known = new Map();

if (Intl.Segmenter) {
  Intl.Segmenter = class extends Intl.Segmenter {
    segment(text) {
      const words = this.resolvedOptions().granularity === "word";
      return words ? text.split(/(\s+)/).map((segment) => ({ segment })) : super.segment(text);
    }
  };
}

// in this page, where the line above holds, and not in a worker
export const options = (given) => pagefind.options({ ...given, noWorker: true });

async function finds(piece) {
  if (!known.has(piece)) known.set(piece, (await pagefind.search(piece)).results.length > 0);
  return known.get(piece);
}

async function cut(query) {
  const pieces = [];
  for (const part of (query ?? "").split(HAN)) {
    let rest = HAN.test(part) ? part : "";
    if (!rest) pieces.push(part);
    while (rest) {
      let n = rest.length;
      while (n > 1 && !(await finds(rest.slice(0, n)))) n -= 1;
      pieces.push(rest.slice(0, n));
      rest = rest.slice(n);
    }
  }
  return pieces.join(" ").trim();
}

export const search = async (query, ...how) => pagefind.search(await cut(query), ...how);

export const debouncedSearch = async (query, ...how) =>
  pagefind.debouncedSearch(await cut(query), ...how);
