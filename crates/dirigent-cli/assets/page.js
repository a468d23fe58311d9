"use strict";
// Draws every figure of the page from the JSON next to it. Colours that are names of CSS variables ("--ink") follow the colour scheme.
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
  if (narrow.matches) Object.assign(merged, { showlegend: false, height: Math.min(merged.height, 380) });
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

// Reads the figures of the page and draws them; the document says how many are drawn.
async function start() {
  figures = [...document.querySelectorAll("figure[data-plot]")];
  for (const figure of figures) figure.original = figure.plot = JSON.parse(document.getElementById(figure.dataset.plot).textContent);
  for (const choice of document.querySelectorAll(".choice")) {
    choice.hidden = false;
    choice.addEventListener("change", (event) => choose(choice.parentElement, event.target.value === "other"));
  }
  startCuts();
  startMap();
  await drawAll();
  document.documentElement.dataset.drawn = figures.length;
}

const drawAll = () => { drawMap(); return Promise.all(figures.map(draw)); };
for (const change of [scheme, narrow]) change.addEventListener("change", drawAll);
// what was hidden while it was drawn has no width yet
document.addEventListener("toggle", (event) => event.target.querySelectorAll(".plot").forEach((plot) => Plotly.Plots.resize(plot)), true);
// a card that is linked to may be among those that are to be opened
const reveal = () => location.hash.startsWith("#cluster-") && document.querySelector(location.hash)?.closest("details")?.setAttribute("open", "");
addEventListener("hashchange", reveal);
const started = start().then(reveal);
