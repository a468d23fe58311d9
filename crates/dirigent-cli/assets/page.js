"use strict";
// Draws every figure of the page from the JSON beside it. Colours that are names of CSS variables ("--ink") follow the colour scheme.
let figures = [];
const scheme = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)");
const narrow = matchMedia("(max-width: 40rem)");

function resolved(value, key, style) {
  if (Array.isArray(value)) return value.map((item) => resolved(item, key, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, name, style)]));
  }
  const isColour = typeof value === "string" && /color$/.test(key) && value.startsWith("--");
  return isColour ? style.getPropertyValue(value).trim() : value;
}

function over(base, layer) {
  const merged = { ...base };
  for (const [name, item] of Object.entries(layer)) {
    const isMap = item && typeof item === "object" && !Array.isArray(item);
    merged[name] = isMap ? over(merged[name] ?? {}, item) : item;
  }
  return merged;
}

function themed(layout, style) {
  const axis = { gridcolor: "--grid", zerolinecolor: "--line", linecolor: "--line", automargin: true, title: { standoff: 8 } };
  const hover = { bgcolor: "--sheet", bordercolor: "--line", font: { color: "--ink" }, align: "left", namelength: -1 };
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 48, r: 12, t: 12, b: 40 },
    font: { color: "--ink", size: 12, family: style.fontFamily }, hoverlabel: hover, xaxis: axis, yaxis: axis,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "--soft", activecolor: "--accent" },
    legend: { bgcolor: "rgba(0,0,0,0)", font: { size: 11 }, y: 0.94 }, dragmode: touch.matches ? false : "zoom", uirevision: "usual",
  };
  const merged = over(base, layout);
  // on a narrow screen a legend would leave no room for the plot; hovering still tells
  if (narrow.matches) {
    const { tall } = layout.meta ?? {};
    Object.assign(merged, { showlegend: false, height: tall ? merged.height : Math.min(merged.height, 380) });
    const firstWords = merged.yaxis.ticktext?.map((text) => text.split(", ")[0]);
    if (tall) merged.yaxis = { ...merged.yaxis, title: { text: "" }, ...(firstWords && { ticktext: firstWords }) };
  }
  return resolved(merged, "", style);
}

function draw(figure) {
  const style = getComputedStyle(document.body);
  const { data, layout } = figure.plot;
  const buttons = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const config = { responsive: true, displaylogo: false, displayModeBar: touch.matches ? false : "hover", modeBarButtons: buttons };
  return Plotly.react(figure.querySelector(".plot"), resolved(data, "", style), themed(layout, style), config);
}

// The other values of the horizontal axis, where there are some.
function choose(group, other) {
  for (const figure of figures.filter((figure) => group.contains(figure))) {
    const { data, layout, other_x } = figure.original;
    figure.plot = figure.original;
    if (other && other_x) {
      const moved = data.map((trace, ix) => ({ ...trace, x: other_x.values[ix] }));
      figure.plot = { data: moved, layout: over(layout, { uirevision: "other", xaxis: { title: { text: other_x.title } } }) };
    }
    draw(figure);
  }
}

// Cuts of the tree over the components: what the slider shows. `cuts.cuts[k - 1]` are the nodes that are the clusters of the cut into k, by their numbers.
let cuts = null;
const counted = (n, thing) => `${n.toLocaleString("en-US")} ${thing}${n === 1 ? "" : "s"}`;
const short = (x) => x.toLocaleString("en-US", { maximumSignificantDigits: 4 }).replace("-", "\u2212");
const plainText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const share = (rows) => {
  const percent = (100 * rows) / cuts.n_rows;
  return percent >= 99.95 ? "100 %" : percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
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
  Object.assign(cuts, { fitted, bar, range, output, button, others, more, open: others.parentElement.querySelector(":scope > .cards") });
  cuts.cards = new Map(cards.map((card) => [Number(card.dataset.group), card]));
  for (const figure of figures.filter((figure) => figure.dataset.cut)) {
    const [plot, caption, body] = [".plot", "figcaption", "tbody"].map((part) => figure.querySelector(part));
    figure.fitted = { alt: plot.getAttribute("aria-label"), caption: caption?.textContent, body };
  }
  let waiting = false;
  range.addEventListener("input", () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; cutInto(Number(range.value)); });
    waiting = true;
  });
  button.addEventListener("click", () => cutInto(null));
  bar.hidden = false;
  tellCut(null);
  for (const figure of figures.filter((figure) => figure.dataset.cut === "tree")) figure.plot = cutPlots.tree(figure, null);
}

// Shows the cut into k clusters; null is the clusters of the run.
function cutInto(k) {
  const nodes = k && cuts.cuts[k - 1];
  tellCut(k);
  showCards(nodes ? nodes.map((node, number) => ({ card: cuts.cards.get(cuts.group[node]), links: nearest(k, number) })) : cuts.fitted);
  const drawn = figures.filter((figure) => figure.dataset.cut).map((figure) => {
    figure.words = {};
    figure.plot = nodes || figure.dataset.cut === "tree" ? cutPlots[figure.dataset.cut](figure, nodes) : figure.original;
    const { alt, caption, body, rows } = { ...figure.fitted, ...figure.words };
    figure.querySelector(".plot").setAttribute("aria-label", alt);
    if (caption) figure.querySelector("figcaption").textContent = caption;
    figure.querySelector("tbody").replaceWith(rows ? tableBody(rows) : body);
    return draw(figure);
  });
  document.documentElement.dataset.cut = k ?? "fitted";
  return Promise.all(drawn);
}

function tellCut(k) {
  const text = counted(k ?? cuts.n_clusters, "cluster") + (k ? "" : ", as fitted");
  if (!k) cuts.range.value = cuts.n_clusters;
  cuts.output.textContent = text;
  cuts.range.setAttribute("aria-valuetext", text);
  cuts.button.setAttribute("aria-pressed", !k);
}

// Cards are moved, numbered and coloured; those of no cluster wait in a place that is hidden.
function showCards(shown) {
  const visible = new Set(shown.map(({ card }) => card));
  for (const card of cuts.cards.values()) {
    if (visible.has(card)) continue;
    card.removeAttribute("id");
    cuts.others.append(card);
  }
  shown.forEach(({ card, links }, number) => {
    card.id = `cluster-${number}`;
    card.querySelector("h3").textContent = `Cluster ${number}`;
    card.style.setProperty("--tone", cuts.colours[number]);
    const list = card.querySelector(".links");
    list.replaceChildren(...links);
    list.previousElementSibling.hidden = links.length === 0;
    (number < cuts.open_cards ? cuts.open : cuts.more.querySelector(".cards")).append(card);
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

function tableBody(rows) {
  const body = document.createElement("tbody");
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((text, ix) => {
      const cell = document.createElement(ix ? "td" : "th");
      if (ix) cell.className = ix < 4 && /^[\d\u2212<]/.test(text) ? "number" : "";
      else cell.scope = "row";
      cell.textContent = text;
      row.append(cell);
    });
  }
  return body;
}

// How each plot looks at a cut.
const cutPlots = {
  map(figure, nodes) {
    const { data, layout, other_cuts: own } = figure.original;
    const k = nodes.length;
    const rows = nodes.map((node) => cuts.rows[node]);
    const [x, y] = [0, 1].map((axis) => nodes.map((node) => own.centres[node][axis]));
    figure.words = {
      alt: own.alt.replace("{}", counted(k, "cluster")),
      rows: nodes.map((_, number) => [number, share(rows[number]), short(x[number]), short(y[number])]),
    };
    const named = Math.min(k, own.named);
    const layer = { showlegend: k > 1 && !cuts.words, legend: { uirevision: k } };
    if (cuts.words) {
      const customdata = nodes.map((node, number) => [number, share(rows[number]), plainText(cuts.words[node])]);
      const size = rows.map((n) => 8 + 40 * Math.sqrt(n / rows[0]));
      const text = nodes.map((_, number) => (number < named ? String(number) : ""));
      const bubbles = { ...data[0], x, y, text, customdata, marker: { ...data[0].marker, size, color: cuts.colours.slice(0, k) } };
      return { data: [bubbles], layout: over(layout, layer) };
    }
    const traces = Array.from({ length: named + 1 }, () => ({ x: [], y: [], customdata: [], opacity: [], color: [] }));
    own.rows.forEach(([leaves, certainties], ix) => leaves.forEach((leaf, row) => {
      const [node, steps] = above(leaf, k);
      const number = nodes.indexOf(node);
      const certainty = ((certainties[row] || [])[steps] ?? 100) / 100;
      const trace = traces[Math.min(number, named)];
      trace.x.push(data[ix].x[row]);
      trace.y.push(data[ix].y[row]);
      trace.customdata.push([data[ix].customdata[row][0], number, certainty]);
      trace.opacity.push(0.25 + 0.6 * certainty);
      trace.color.push(cuts.colours[number]);
    }));
    const points = traces.flatMap(({ opacity, color, ...trace }, number) => {
      if (!color.length) return [];
      const isRest = number === named;
      const marker = { ...data[0].marker, opacity, color: isRest ? color : color[0] };
      return [{ ...data[0], ...trace, marker, name: isRest ? "others" : String(number), legendgroup: `c${number}` }];
    });
    return { data: [...points, ...ellipses(own, nodes, named), { ...data.at(-1), x: x.slice(0, named), y: y.slice(0, named), text: nodes.slice(0, named).map((_, number) => `<b>${number}</b>`) }], layout: over(layout, layer) };
  },

  sizes(figure, nodes) {
    const [k, rows] = [nodes.length, nodes.map((node) => cuts.rows[node])];
    const sentence = `${counted(k, "cluster")} of ${rows[0].toLocaleString("en-US")} to ${counted(rows[k - 1], "row")}.`;
    const isSteep = rows[0] / rows[k - 1] > 100;
    figure.words = {
      alt: sentence, caption: isSteep ? `${sentence} The vertical axis is logarithmic.` : sentence,
      rows: nodes.map((node, number) => [number, rows[number].toLocaleString("en-US"), share(rows[number]), ...(cuts.words ? [cuts.words[node]] : [])]),
    };
    const numbers = nodes.map((_, number) => number);
    const bars = { type: "bar", x: numbers, y: rows, marker: { color: cuts.colours.slice(0, k) }, hovertemplate: "cluster %{x}: %{y:,} rows<extra></extra>" };
    const xaxis = { range: [-0.6, Math.max(k, 12) - 0.4], tickmode: k > 40 ? "auto" : "array", tickvals: numbers };
    const layer = { uirevision: `cut ${k}`, xaxis, yaxis: { type: isSteep ? "log" : "linear", rangemode: isSteep ? "normal" : "tozero" } };
    return { data: [bars], layout: over(figure.original.layout, layer) };
  },

  // the branches below the cut have the colours of their clusters, in every state
  tree(figure, nodes) {
    const [branches, ...rest] = figure.original.data;
    const cluster = nodes ? [] : cuts.cluster;
    if (nodes) cuts.parent.forEach((parent, node) => {
      const number = nodes.indexOf(node);
      cluster.push(number >= 0 ? number : parent === null ? null : cluster[parent]);
    });
    const [members, tops] = [new Map(), new Map()];
    cluster.forEach((number, node) => {
      if (!members.has(number)) members.set(number, []);
      members.get(number).push(node);
      const isTop = number !== null && (cuts.parent[node] === null || cluster[cuts.parent[node]] !== number);
      if (isTop && !(cuts.rows[tops.get(number)] >= cuts.rows[node])) tops.set(number, node);
    });
    const lines = [...members].map(([number, list]) => {
      const [x, y] = [branches.x, branches.y].map((all) => list.flatMap((node) => all.slice(4 * node, 4 * node + 4)));
      return { ...branches, x, y, line: { ...branches.line, color: cuts.colours[number] ?? "--soft" } };
    });
    const named = [...tops].sort(([a], [b]) => a - b).slice(0, 60);
    const [x, y] = [branches.x, branches.y].map((all) => named.map(([, node]) => all[4 * node]));
    const numbers = { type: "scatter", mode: "text", hoverinfo: "skip", x, y, text: named.map(([number]) => `<b>${number}</b>`), textposition: "top right", textfont: { color: "--ink", size: 12 } };
    return { data: [...lines, ...rest, numbers], layout: figure.original.layout };
  },
};

// Those of the components, in the colours of their clusters.
function ellipses(own, nodes, named) {
  const traces = Array.from({ length: named + 1 }, (_, number) => ({
    type: "scatter", mode: "lines", showlegend: false, legendgroup: `c${number}`, hoverinfo: "skip", x: [], y: [],
    line: { color: number < named ? cuts.colours[number] : "--soft", width: 1.4 },
  }));
  for (const [leaf, [x, y, first, second, third]] of own.components) {
    const trace = traces[Math.min(nodes.indexOf(above(leaf, nodes.length)[0]), named)];
    for (let step = 0; step <= 36; step += 1) {
      const [cos, sin] = [Math.cos, Math.sin].map((turn) => own.radius * turn((2 * Math.PI * step) / 36));
      trace.x.push(x + first * cos);
      trace.y.push(y + second * cos + third * sin);
    }
    trace.x.push(null);
    trace.y.push(null);
  }
  return traces.filter((trace) => trace.x.length);
}

// The cluster that a node is in at the cut into k, and how many steps it is above.
function above(node, k) {
  let steps = 0;
  for (; cuts.first[node] > k; steps += 1) node = cuts.parent[node];
  return [node, steps];
}

// Reads the figures of the page and draws them; the document says how many are drawn.
async function start() {
  figures = [...document.querySelectorAll("figure[data-plot]")];
  for (const figure of figures) figure.original = figure.plot = JSON.parse(document.getElementById(figure.dataset.plot).textContent);
  for (const choice of document.querySelectorAll(".choice")) {
    choice.hidden = false;
    choice.addEventListener("change", (event) => choose(choice.parentElement, event.target.value === "other"));
  }
  startCuts();
  await drawAll();
  document.documentElement.dataset.drawn = figures.length;
}

const drawAll = () => Promise.all(figures.map(draw));
for (const change of [scheme, narrow]) change.addEventListener("change", drawAll);
// what was hidden while it was drawn has no width yet
document.addEventListener("toggle", (event) => event.target.querySelectorAll(".plot").forEach((plot) => Plotly.Plots.resize(plot)), true);
// a card that is linked to may be among those that are to be opened
const reveal = () => location.hash.startsWith("#cluster-") && document.querySelector(location.hash)?.closest("details")?.setAttribute("open", "");
addEventListener("hashchange", reveal);
const started = start().then(reveal);
