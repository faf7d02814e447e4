// Order what the search finds by how much of it was asked for. Sphinx shows only pages
// that have every word, in alphabetical order if none is in a title. Here a rare word
// counts more than a common one, in a heading more than in the text, and the result is
// the heading that has most; what stands before a colon is its topic. NAMES are other
// names of measures and tools, SUMMARIES the first words of pages and headings.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  if (Search.hasIndex()) Search._index.indexentries = {}; // the words of the glossary
  const TITLE = 3, HEADING = 2.5, TEXT = 1, SHARE = 0.75, FOUND = 30;
  const FIRST = [
    [/^(changelog|benchmarks|contributing|design|reliability|words|development\/|\w+\/index)/, 0.4],
    [/^(api\/|parity|glossary)/, 0.6],
    [/^questions/, 1.2],
    [/^(guide\/|loops\/)/, 1.15],
  ];
  const worth = (page) => (FIRST.find(([name]) => name.test(page)) ?? [0, 1])[1];
  const stemmer = new Stemmer();
  const stems = (text) =>
    splitQuery(text.toLowerCase())
      .filter((word) => !stopwords.has(word) && !["vs", "polars", "s"].includes(word))
      .map((word) => [stemmer.stemWord(word), word]);
  const files = (list) => (list === undefined ? [] : [list].flat());
  const own = (terms, word) => (Object.hasOwn(terms, word) ? files(terms[word]) : []);

  const stopPulse = Search.stopPulse;
  Search.stopPulse = () => { // all results are there
    stopPulse();
    for (const link of Search.output.querySelectorAll("li > a:only-child")) {
      const [page, id = ""] = link.getAttribute("href").split("#");
      const words = SUMMARIES[page.replace(/\.html$/, "")]?.[id];
      if (!words) continue;
      const summary = link.parentElement.appendChild(document.createElement("p"));
      summary.className = "context";
      summary.textContent = words;
    }
  };

  let headings = null;
  const read = () =>
    Object.entries(Search._index.alltitles).flatMap(([title, places]) => {
      const words = new Set(stems(title).map(([stem]) => stem));
      const topic = new Set(stems(title.split(":")[0]).map(([stem]) => stem));
      return places.map(([file, id]) => ({ title, file, id, words, topic }));
    });

  Search.performTermsSearch = (_terms, excluded) => {
    const index = Search._index;
    headings ??= read();
    const query = stems(document.querySelector('input[name="q"]').value);
    const weight = new Map(), text = new Map(), named = new Map();
    for (const [stem, word] of query) {
      let having = own(index.terms, stem);
      if (!having.length && stem.length > 2)
        having = Object.keys(index.terms)
          .filter((term) => term.startsWith(stem))
          .flatMap((term) => files(index.terms[term]));
      text.set(stem, new Set([...having, ...own(index.titleterms, stem)]));
      const pages = Object.hasOwn(NAMES, word) ? NAMES[word] : [];
      named.set(stem, new Set(pages.map((page) => index.docnames.indexOf(page))));
      weight.set(stem, Math.log(1 + index.docnames.length / (1 + text.get(stem).size)));
    }
    const sum = (has) =>
      query.reduce((all, [stem]) => all + (has(stem) ? weight.get(stem) : 0), 0);
    const best = new Map();
    for (const { title, file, id, words, topic } of headings) {
      const main = id === null || index.titles[file] === title;
      const has = (stem) => words.has(stem) || (main && named.get(stem).has(file));
      const hits = query.filter(([stem]) => has(stem)).length;
      const share = SHARE * Math.min(1, hits / Math.max(1, topic.size)) + 1 - SHARE;
      const other = (stem) => !has(stem) && text.get(stem).has(file);
      const score =
        worth(index.docnames[file]) *
        ((main ? TITLE : HEADING) * share * sum(has) + TEXT * sum(other));
      const id_ = main || !hits ? null : id; // no heading has a word: the page itself
      if (score > (best.get(file)?.score ?? 0)) best.set(file, { title, id: id_, score });
    }
    for (const stem of excluded) for (const file of own(index.terms, stem)) best.delete(file);
    return [...best]
      .sort(([, a], [, b]) => b.score - a.score)
      .slice(0, FOUND)
      .map(([file, { title, id, score }]) => [
        index.docnames[file],
        id === null ? index.titles[file] : `${index.titles[file]} > ${title}`,
        id === null ? "" : `#${id}`,
        null,
        score + 20, // above what Sphinx finds by parts of names
        index.filenames[file],
        SearchResultKind.text,
      ]);
  };
});
