"use strict";
// The slider: cuts of the tree over the components. `cuts.cuts[k - 1]` are the nodes that are the clusters of the cut into k, by their numbers.
let cuts = null;
const counted = (n, thing) => `${n.toLocaleString("en-US")} ${thing}${n === 1 ? "" : "s"}`;
const short = (x) => (Math.abs(x) < 1e-12 ? 0 : x).toLocaleString("en-US", { maximumSignificantDigits: 4 }).replace("-", "\u2212");
const percent = (share) => {
  const text = 100 * share;
  return text >= 99.95 ? "100 %" : text < 0.1 ? "< 0.1 %" : `${text.toFixed(1)} %`;
};

function startCuts() {
  const data = document.getElementById("cuts");
  cuts = data && JSON.parse(data.textContent);
  if (!cuts) return;
  const [bar, others] = [document.querySelector(".cut"), document.querySelector(".other-cards")];
  const [range, output, button] = bar.querySelectorAll("input, output, button");
  const more = others.parentElement.querySelector(":scope > details.more");
  const cards = [...document.querySelectorAll(".card[data-group]")];
  const links = (card) => [...card.querySelector(".links").childNodes];
  const fitted = cards.filter((card) => card.id).map((card) => ({ card, links: links(card) }));
  const [list, tree] = [document.querySelector(".overview tbody"), document.querySelector("figure.tree")];
  Object.assign(cuts, { fitted, bar, range, output, button, others, more, list, open: others.parentElement.querySelector(":scope > .cards") });
  Object.assign(cuts, { rest: document.querySelector(".overview-rest"), cards: new Map(cards.map((card) => [Number(card.dataset.group), card])) });
  if (tree) {
    const branches = [...tree.querySelectorAll("g[data-node]")];
    Object.assign(cuts, { branches, tops: tree.querySelector(".tops"), shown: branches.map(() => undefined) });
  }
  let waiting = false;
  range.addEventListener("input", () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; cutInto(Number(range.value)); });
    waiting = true;
  });
  button.addEventListener("click", () => cutInto(null));
  bar.hidden = false;
  tellCut(null);
  colourTree(null);
}

// Shows the cut into k clusters; null is the clusters of the run.
function cutInto(k) {
  const nodes = k && cuts.cuts[k - 1];
  tellCut(k);
  showCards(nodes ? nodes.map((node, number) => ({ card: cuts.cards.get(cuts.group[node]), links: nearest(k, number) })) : cuts.fitted);
  document.querySelector(".overview tbody").replaceWith(nodes ? overview(nodes) : cuts.list);
  if (cuts.rest) cuts.rest.hidden = Boolean(nodes);
  colourTree(nodes);
  cutMap(nodes);
  document.documentElement.dataset.cut = k ?? "fitted";
}

function tellCut(k) {
  const text = counted(k ?? cuts.n_clusters, "cluster") + (k ? "" : ", as fitted");
  if (!k) cuts.range.value = cuts.n_clusters;
  cuts.output.textContent = text;
  cuts.range.setAttribute("aria-valuetext", text);
  cuts.button.setAttribute("aria-pressed", !k);
}

const titleOf = (number, group) => (cuts.names[group] ? `Cluster ${number}: ${cuts.names[group]}` : `Cluster ${number}`);

// Cards are moved, numbered and coloured; those of no cluster wait in a place that is hidden.
function showCards(shown) {
  const visible = new Set(shown.map(({ card }) => card));
  for (const card of cuts.cards.values()) {
    if (visible.has(card) || card.parentElement === cuts.others) continue;
    card.removeAttribute("id");
    cuts.others.append(card);
  }
  const folded = cuts.more.querySelector(".cards");
  shown.forEach(({ card, links }, number) => {
    card.id = `cluster-${number}`;
    card.querySelector("h3").textContent = titleOf(number, Number(card.dataset.group));
    card.style.setProperty("--tone", cuts.colours[number]);
    const list = card.querySelector(".links");
    list.replaceChildren(...links);
    list.previousElementSibling.hidden = links.length === 0;
    const [place, ix] = number < cuts.open_cards ? [cuts.open, number] : [folded, number - cuts.open_cards];
    if (place.children[ix] !== card) place.insertBefore(card, place.children[ix] ?? null);
  });
  cuts.more.hidden = shown.length <= cuts.open_cards;
  cuts.more.querySelector("summary").textContent = `${shown.length - cuts.open_cards} more`;
}

function nearest(k, number) {
  return cuts.nearest[k - 1][number].flatMap((other, ix) => {
    const link = Object.assign(document.createElement("a"), { href: `#cluster-${other}`, textContent: other });
    return ix ? [", ", link] : [link];
  });
}

// The table of clusters, as the page has it for those of the run.
function overview(nodes) {
  const body = document.createElement("tbody");
  const largest = cuts.rows[nodes[0]];
  nodes.forEach((node, number) => {
    const row = body.insertRow();
    const head = Object.assign(document.createElement("th"), { scope: "row" });
    const group = cuts.group[node];
    const link = Object.assign(document.createElement("a"), { href: `#cluster-${number}`, textContent: cuts.names[group] ? `${number} ${cuts.names[group]}` : number });
    head.append(link);
    row.style.setProperty("--tone", cuts.colours[number]);
    row.append(head);
    const cell = (text, className) => Object.assign(row.insertCell(), { textContent: text, className });
    cell(cuts.rows[node].toLocaleString("en-US"), "number");
    cell(percent(cuts.rows[node] / cuts.n_rows), "number bar").style.setProperty("--share", `${(100 * cuts.rows[node]) / largest}%`);
    if (cuts.certainty) cell(cuts.certainty[node] === null ? "\u2013" : percent(cuts.certainty[node] / 100), "number");
    cell(cuts.marks[node] ?? "", "");
  });
  return body;
}

// The branches below the cut have the colours of their clusters.
function colourTree(nodes) {
  if (!cuts.branches) return;
  const cluster = nodes ? [] : cuts.cluster;
  const numbers = nodes && new Map(nodes.map((node, number) => [node, number]));
  if (nodes) cuts.parent.forEach((parent, node) => cluster.push(numbers.get(node) ?? (parent === null ? null : cluster[parent])));
  const tops = new Map();
  cluster.forEach((number, node) => {
    if (cuts.shown[node] !== number) cuts.branches[node].style.setProperty("--tone", cuts.colours[number] ?? "var(--soft)");
    cuts.shown[node] = number;
    const isTop = number !== null && (cuts.parent[node] === null || cluster[cuts.parent[node]] !== number);
    if (isTop && !(cuts.rows[tops.get(number)] >= cuts.rows[node])) tops.set(number, node);
  });
  const text = ([number, node]) => {
    const [x, y] = ["x", "y"].map((axis) => cuts.branches[node].dataset[axis]);
    const item = document.createElementNS(cuts.tops.namespaceURI, "text");
    item.setAttribute("x", `${x}%`);
    item.setAttribute("y", Number(y) - 3);
    item.setAttribute("dx", 4);
    item.textContent = cuts.names[cuts.group[node]] ? `${number} ${cuts.names[cuts.group[node]]}` : number;
    return item;
  };
  cuts.tops.replaceChildren(...[...tops].sort(([a], [b]) => a - b).slice(0, 60).map(text));
}

// The cluster that a node is in at the cut into k, and how many steps it is above.
function above(node, k) {
  let steps = 0;
  for (; cuts.first[node] > k; steps += 1) node = cuts.parent[node];
  return [node, steps];
}
