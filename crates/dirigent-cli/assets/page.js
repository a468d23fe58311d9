"use strict";
// Draws every figure of the page from the JSON beside it. Colours that are names of CSS variables ("--ink") follow the colour scheme.
const figures = [...document.querySelectorAll("figure[data-plot]")];
const scheme = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)");
const still = matchMedia("(prefers-reduced-motion: reduce)");

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
    legend: { bgcolor: "rgba(0,0,0,0)", font: { size: 11 } }, dragmode: touch.matches ? false : "zoom",
  };
  if (innerWidth < 640) base.legend = { ...base.legend, orientation: "h", y: -0.2 };
  return resolved(over(base, layout), "", style);
}

function draw(figure) {
  const style = getComputedStyle(document.body);
  const { data, layout } = figure.plot;
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  return Plotly.react(figure.querySelector(".plot"), resolved(data, "", style), themed(layout, style), config);
}

// The other values of the horizontal axis, where there are some.
function choose(group, other) {
  for (const figure of figures.filter((figure) => group.contains(figure))) {
    const { data, layout, other_x } = figure.original;
    figure.plot = figure.original;
    if (other && other_x) {
      const moved = data.map((trace, ix) => ({ ...trace, x: other_x.values[ix] }));
      figure.plot = { data: moved, layout: over(layout, { xaxis: { title: { text: other_x.title } } }) };
    }
    draw(figure);
  }
}

function load(figure, plot) {
  figure.original = figure.plot = plot;
}

for (const figure of figures) load(figure, JSON.parse(document.getElementById(figure.dataset.plot).textContent));
const drawAll = () => Promise.all(figures.map(draw));
for (const choice of document.querySelectorAll(".choice")) {
  choice.hidden = false;
  choice.addEventListener("change", (event) => choose(choice.parentElement, event.target.value === "other"));
}
scheme.addEventListener("change", drawAll);
drawAll().then(() => document.documentElement.dataset.drawn = figures.length);
