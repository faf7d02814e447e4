// @ts-check
"use strict";
/**
 * @typedef {{id: string[], segment: string[][], text: (string | null)[],
 *   before: (number | null)[], after: (number | null)[],
 *   difference: (number | null)[], contribution: (number | null)[],
 *   label_effect?: (number | null)[]}} Queries
 * @typedef {{id: string[], doc: string[], baseline_rank: (number | null)[],
 *   rank: (number | null)[], kind: (string | null)[], label: (number | null)[],
 *   baseline_label?: (number | null)[], contribution: (number | null)[], title: (string | null)[],
 *   url: (string | null)[]}} Documents
 * @typedef {{names: string[], by: string[], count: number, lists: boolean,
 *   queries: Queries, documents: Documents, shown: string[]}} View
 * @typedef {{views: View[], judge: string}} Data
 * @typedef {"id" | "before" | "after" | "difference" | "contribution"} Column
 */
(() => {
  const PAGE = 100; // rows of the table that are shown at once

  /** @param {string} id @returns {HTMLElement} */
  function at(id) {
    const found = document.getElementById(id);
    if (found === null) throw new Error(`no element ${id}`);
    return found;
  }

  /** @type {Data} */
  const data = JSON.parse(at("data").textContent || "{}");
  let view = 0; // the comparison that is shown
  let { queries, documents, names } = data.views[view];
  /** @type {Map<string, number>} */
  let places = new Map();
  /** @type {Set<string>} */
  let shown = new Set();
  /** @type {Map<string, number[]>} */
  let rows = new Map();
  let highest = 1;
  let weighted = false; // contributions are not the differences

  const search = /** @type {HTMLInputElement} */ (at("search"));
  const sign = /** @type {HTMLSelectElement} */ (at("sign"));
  /** @type {HTMLSelectElement[]} */
  let segments = []; // one for each column
  const more = /** @type {HTMLButtonElement} */ (at("more"));
  const body = /** @type {HTMLTableElement} */ (at("list")).tBodies[0];
  let by = /** @type {Column} */ ("difference");
  let ascending = true;
  let most = PAGE;

  /**
   * Make an element whose content is text, never markup.
   * @param {string} tag @param {string} [className] @param {string} [text]
   */
  function make(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** @param {number | null} x @param {boolean} [signed] */
  function number(x, signed) {
    if (x === null) return "–";
    const text = Math.abs(x).toFixed(4);
    const zero = Number(text) === 0;
    return (x < 0 && !zero ? "−" : signed && !zero ? "+" : "") + text;
  }

  /** @param {number | null} x */
  function side(x) {
    return x === null || x === 0 ? "" : x < 0 ? "down" : "up";
  }

  /** @param {string} id */
  function address(id) {
    return `#q=${encodeURIComponent(id)}${view ? `&view=${view}` : ""}`;
  }

  /** What a query is found by. @param {number} i */
  function words(i) {
    const about = [queries.id[i], queries.text[i] || "", ...queries.segment[i]];
    return about.join("\n").toLowerCase();
  }

  /** The queries that fit the filters, sorted. */
  function fitting() {
    const asked = search.value.trim().toLowerCase().split(/\s+/);
    const found = queries.id.flatMap((_, i) => {
      const d = queries.difference[i];
      const direction = d === null ? "" : d < 0 ? "lower" : d > 0 ? "higher" : "equal";
      const fits =
        asked.every((word) => words(i).includes(word)) &&
        (!sign.value || direction === sign.value) &&
        segments.every((s, j) => !s.value || `=${queries.segment[i][j]}` === s.value);
      return fits ? [i] : [];
    });
    const column = queries[by];
    return found.sort((i, j) => {
      const [x, y] = [column[i], column[j]];
      if (x === null || y === null) return Number(x === null) - Number(y === null);
      const order =
        typeof x === "string"
          ? x.localeCompare(String(y), undefined, { numeric: true })
          : x - Number(y);
      return (ascending ? order : -order) || i - j;
    });
  }

  function list() {
    const found = fitting();
    const now = chosen();
    const made = found.slice(0, most).map((i) => {
      const row = make("tr");
      if (queries.id[i] === now) row.setAttribute("aria-current", "true");
      const name = make("td");
      const link = /** @type {HTMLAnchorElement} */ (make("a", "", queries.id[i]));
      link.href = address(queries.id[i]);
      name.append(link);
      const text = queries.text[i];
      if (text) name.append(make("div", "small", text));
      const parts = queries.segment[i].join(", ");
      if (parts) name.append(make("div", "small", parts));
      const d = queries.difference[i];
      row.append(
        name,
        make("td", `n ${side(d)}`, number(d, true)),
        make("td", "n", number(queries.before[i])),
        make("td", "n", number(queries.after[i])),
      );
      const adds = queries.contribution[i];
      if (weighted) row.append(make("td", `n ${side(adds)}`, number(adds, true)));
      return row;
    });
    body.replaceChildren(...made);
    /** @param {"contribution" | "label_effect"} name */
    function sum(name) {
      return found.reduce((all, i) => all + ((queries[name] || [])[i] || 0), 0);
    }
    const of = `${found.length} of ${queries.id.length} queries`;
    const part = number(sum("contribution") / data.views[view].count, true);
    const labels = number(sum("label_effect") / data.views[view].count, true);
    const told = queries.label_effect ? `, ${labels} of it by labels` : "";
    at("count").textContent = `${of}: ${part} of the difference${told}`;
    at("none").hidden = found.length > 0;
    more.hidden = found.length <= most;
  }

  /** @returns {string | null} */
  function chosen() {
    if (!location.hash.startsWith("#q=")) return null;
    const [text] = location.hash.slice(3).split("&view=");
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** The comparison that the address names: the first, if it names none. */
  function addressed() {
    const named = Number(location.hash.split("&view=")[1] || 0);
    return data.views[named] ? named : 0;
  }

  /** @param {number | null} label */
  function grade(label) {
    if (label === null) return make("span", "grade hole", "◌ unjudged");
    const level = label <= 0 ? 0 : Math.max(1, Math.ceil((3 * label) / highest));
    return make("span", `grade g${level}`, `${"○◔◑●"[level]} grade ${label}`);
  }

  /** @param {number} i */
  function named(i) {
    const title = documents.title[i] || documents.doc[i];
    const url = documents.url[i] || "";
    if (!/^https?:\/\//i.test(url)) return make("span", "", title);
    const link = /** @type {HTMLAnchorElement} */ (make("a", "", title));
    link.href = url;
    link.rel = "noopener noreferrer";
    return link;
  }

  /** @param {number} i @param {boolean} after */
  function move(i, after) {
    const [old, now] = [documents.baseline_rank[i], documents.rank[i]];
    if (old === null) return "+ new";
    if (now === null) return "✕ not retrieved";
    if (old === now) return "= same rank";
    const arrow = now < old ? "↑" : "↓";
    return after ? `${arrow} from ${old}` : `${arrow} to ${now}`;
  }

  /** @param {number[]} own @param {"baseline_rank" | "rank"} place @param {string} name */
  function ranking(own, place, name) {
    const part = make("div");
    part.append(make("h4", "", name));
    const there = own.filter((i) => documents[place][i] !== null);
    there.sort((i, j) => Number(documents[place][i]) - Number(documents[place][j]));
    if (!there.length) part.append(make("p", "empty", "No document is in this list."));
    const items = make("ol");
    let last = 0;
    for (const i of there) {
      const rank = Number(documents[place][i]);
      if (last && rank > last + 1) items.append(make("li", "quiet", "⋯"));
      last = rank;
      const item = make("li");
      const meta = make("span", "meta");
      if (documents.title[i]) meta.append(make("span", "quiet", documents.doc[i]));
      meta.append(make("span", "", move(i, place === "rank")));
      const [was, is] = [(documents.baseline_label || documents.label)[i], documents.label[i]];
      if (was !== is && place === "rank")
        meta.append(make("span", "", was === null ? "was unjudged" : `was grade ${was}`));
      const adds = documents.contribution[i];
      if (adds && (place === "rank" || documents.rank[i] === null))
        meta.append(make("span", side(adds), `adds ${number(adds, true)}`));
      const title = make("span", "title");
      title.append(named(i));
      item.append(make("span", "rank", String(rank)), title, grade(place === "rank" ? is : was), meta);
      items.append(item);
    }
    part.append(items);
    return part;
  }

  function query() {
    const id = chosen();
    if (id === null) return;
    const panel = at("query");
    const i = places.get(id);
    if (i === undefined) {
      panel.replaceChildren(make("p", "empty", `No query ${id} is on this page.`));
      return;
    }
    const d = queries.difference[i];
    const values = make("p", "", `${names[0]} ${number(queries.before[i])}, `);
    values.append(`${names[1]} ${number(queries.after[i])}: `);
    values.append(make("strong", side(d), number(d, true)));
    panel.replaceChildren(make("h3", "", queries.text[i] || id));
    if (queries.text[i]) panel.append(make("p", "quiet", id));
    const parts = queries.segment[i].join(", ");
    if (parts) panel.append(make("p", "quiet", parts));
    panel.append(values);
    if (!data.views[view].lists) return;
    if (!shown.has(id)) {
      const said = "Its lists are left out, since others moved the mean more.";
      panel.append(make("p", "empty", `${said} Raise max_queries (--max-queries).`));
    } else {
      const own = rows.get(id) || [];
      const lists = make("div", "lists");
      lists.append(ranking(own, "baseline_rank", names[0]), ranking(own, "rank", names[1]));
      panel.append(lists);
    }
  }

  function anew() {
    most = PAGE;
    list();
  }

  /** Show one of the comparisons. @param {number} next */
  function open(next) {
    view = next;
    ({ queries, documents, names } = data.views[view]);
    places = new Map(queries.id.map((id, i) => [id, i]));
    shown = new Set(data.views[view].shown);
    rows = new Map();
    documents.id.forEach((id, i) => {
      const own = rows.get(id);
      if (own) own.push(i);
      else rows.set(id, [i]);
    });
    highest = documents.label.reduce((m, x) => Math.max(m || 0, x || 0), 0) || 1;
    for (const part of document.querySelectorAll("[data-view]"))
      /** @type {HTMLElement} */ (part).hidden =
        part.getAttribute("data-view") !== String(view);
    for (const link of document.querySelectorAll("a[data-part]"))
      link.setAttribute("href", `#${link.getAttribute("data-part")}-${view}`);
    for (const [i, column] of ["before", "after"].entries()) {
      const button = document.querySelector(`th button[data-by=${column}]`);
      if (button) button.textContent = names[i];
    }
    weighted = queries.contribution.some(
      (x, i) => Math.abs((x || 0) - (queries.difference[i] || 0)) > 1e-6,
    );
    const last = document.querySelector("th button[data-by=contribution]");
    if (last && last.parentElement) last.parentElement.hidden = !weighted;
    segments = data.views[view].by.map((name, j) => {
      const label = make("label", "", `${name} `);
      const select = /** @type {HTMLSelectElement} */ (make("select"));
      const known = [...new Set(queries.segment.map((values) => values[j]))].sort();
      const options = known.map((value) => new Option(value, `=${value}`));
      select.append(new Option("all", ""), ...options);
      select.addEventListener("input", anew);
      label.append(select);
      return select;
    });
    at("segments").replaceChildren(
      ...segments.flatMap((select) => select.parentElement || []),
    );
  }

  function go() {
    if (location.hash.startsWith("#q=") && addressed() !== view) open(addressed());
    if (views) views.value = String(view);
    list();
    if (chosen() === null) return;
    query();
    at("query").scrollIntoView({ block: "nearest" });
    at("query").focus({ preventScroll: true });
  }

  const views = /** @type {HTMLSelectElement | null} */ (document.getElementById("view"));
  if (views)
    views.addEventListener("input", () => {
      const id = chosen();
      open(Number(views.value));
      most = PAGE;
      if (id === null) list();
      else location.hash = address(id);
    });
  for (const input of [search, sign]) input.addEventListener("input", anew);
  more.addEventListener("click", () => {
    most += PAGE;
    list();
  });
  for (const button of document.querySelectorAll("th button"))
    button.addEventListener("click", () => {
      const asked = /** @type {Column} */ (button.getAttribute("data-by"));
      ascending = asked === by ? !ascending : true;
      by = asked;
      for (const th of document.querySelectorAll("#list th"))
        th.removeAttribute("aria-sort");
      const order = ascending ? "ascending" : "descending";
      if (button.parentElement) button.parentElement.setAttribute("aria-sort", order);
      list();
    });
  const download = document.getElementById("download");
  if (download)
    download.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([data.judge], { type: "text/csv" }));
      link.download = "to_judge.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  addEventListener("hashchange", go);
  open(addressed());
  go();
})();
