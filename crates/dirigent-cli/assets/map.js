"use strict";
// The map: rows and components of clusters on a canvas, so that another cut of the tree is drawn at once.
let map = null;

function startMap() {
  const figure = document.querySelector("figure.map");
  if (!figure) return (map = null);
  const own = JSON.parse(figure.querySelector("script").textContent);
  const canvas = figure.querySelector("canvas");
  map = { figure, own, canvas, tip: figure.querySelector(".tip"), list: figure.querySelector(".legend"), hidden: new Set(), drag: null };
  map.alt = canvas.getAttribute("aria-label");
  map.whole = wholeView(own);
  map.view = map.whole;
  cutMap(null);
  canvas.addEventListener("pointermove", moveOnMap);
  canvas.addEventListener("pointerleave", () => (map.tip.hidden = true));
  canvas.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") map.drag = { from: [event.offsetX, event.offsetY], to: null }; });
  canvas.addEventListener("pointerup", zoomIntoBox);
  canvas.addEventListener("dblclick", () => zoom(0));
  figure.querySelector(".zoom").addEventListener("click", ({ target }) => target.value !== undefined && zoom(Number(target.value)));
  map.list.addEventListener("click", ({ target }) => target.closest("button") && toggle(Number(target.closest("button").value)));
  map.list.addEventListener("dblclick", ({ target }) => target.closest("button") && alone(Number(target.closest("button").value)));
  new ResizeObserver(drawMap).observe(canvas);
}

// Which cluster each row, component and label belongs to at a cut; null is the clusters of the run.
function cutMap(nodes) {
  if (!map) return;
  const { own } = map;
  const numbers = nodes && new Map(nodes.map((node, number) => [node, number]));
  const k = nodes ? nodes.length : own.n_clusters;
  if (nodes) {
    const places = own.leaf.map((leaf) => above(leaf, k));
    map.cluster = places.map(([node]) => numbers.get(node));
    map.certainty = places.map(([, steps], ix) => (own.certainties[ix] || [])[steps] ?? 100);
    map.ellipses = own.ellipses.map((ellipse) => numbers.get(above(ellipse[1], k)[0]));
    map.centres = nodes.map((node) => own.nodes[node]);
    map.rows = nodes.map((node) => cuts.rows[node]);
    map.words = own.words && nodes.map((node) => cuts.marks[node]);
    map.names = nodes.map((node) => own.names[cuts.group[node]]);
  } else {
    Object.assign(map, { cluster: own.cluster, certainty: own.certainty, ellipses: own.ellipses.map(([cluster]) => cluster) });
    Object.assign(map, { centres: own.centres, rows: own.rows, words: own.words, names: own.names });
  }
  map.k = k;
  map.hidden.clear();
  map.canvas.setAttribute("aria-label", nodes ? own.alt.replace("{}", counted(k, "cluster")) : map.alt);
  drawLegend();
  drawMap();
}

const nameOf = (number) => (map.names[number] ? `${number} ${map.names[number]}` : String(number));
const entryOf = (number) => Math.min(number, map.own.named);

function drawLegend() {
  const { own, k, list } = map;
  list.hidden = k < 2;
  const button = (number) => {
    const isRest = number === own.named;
    const item = Object.assign(document.createElement("button"), { type: "button", value: number, textContent: isRest ? "others" : nameOf(number) });
    item.style.setProperty("--tone", isRest ? "var(--soft)" : own.colours[number]);
    item.setAttribute("aria-pressed", !map.hidden.has(number));
    return item;
  };
  list.replaceChildren(...Array.from({ length: Math.min(k, own.named + 1) }, (_, number) => button(number)));
}

function toggle(number) {
  if (!map.hidden.delete(number)) map.hidden.add(number);
  drawLegend();
  drawMap();
}

function alone(number) {
  const others = Array.from({ length: Math.min(map.k, map.own.named + 1) }, (_, other) => other).filter((other) => other !== number);
  map.hidden = new Set(others.every((other) => map.hidden.has(other)) ? [] : others);
  drawLegend();
  drawMap();
}

// The part of the plane that holds everything.
function wholeView({ x, y, centres }) {
  const sides = [[...x, ...centres.map((centre) => centre[0])], [...y, ...centres.map((centre) => centre[1])]];
  return sides.map((values) => {
    const [low, high] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const space = 0.06 * (high - low) || 0.5;
    return [low - space, high + space];
  });
}

function zoom(step) {
  const factor = step > 0 ? 0.6 : 1 / 0.6;
  map.view = step ? map.view.map(([low, high]) => { const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor]; return [middle - half, middle + half]; }) : map.whole;
  drawMap();
}

function zoomIntoBox() {
  const { drag, scale } = map;
  map.drag = null;
  if (drag?.to && drag.to.every((end, axis) => Math.abs(end - drag.from[axis]) > 8)) {
    map.view = [0, 1].map((axis) => [scale.back[axis](drag.from[axis]), scale.back[axis](drag.to[axis])].sort((a, b) => a - b));
  }
  drawMap();
}

// From the plane to pixels. With equal axes the shorter side is widened.
function scaleOf(width, height) {
  const frame = { left: 56, right: width - 10, top: 8, bottom: height - 40 };
  let [[x0, x1], [y0, y1]] = map.view;
  if (map.own.equal) {
    const perPixel = Math.max((x1 - x0) / (frame.right - frame.left), (y1 - y0) / (frame.bottom - frame.top));
    const widened = (low, high, pixels) => { const [middle, half] = [(low + high) / 2, (perPixel * pixels) / 2]; return [middle - half, middle + half]; };
    [x0, x1] = widened(x0, x1, frame.right - frame.left);
    [y0, y1] = widened(y0, y1, frame.bottom - frame.top);
  }
  const [sx, sy] = [(frame.right - frame.left) / (x1 - x0), (frame.bottom - frame.top) / (y1 - y0)];
  return {
    frame, sx, sy, ranges: [[x0, x1], [y0, y1]],
    x: (x) => frame.left + (x - x0) * sx, y: (y) => frame.bottom - (y - y0) * sy,
    back: [(pixel) => x0 + (pixel - frame.left) / sx, (pixel) => y0 + (frame.bottom - pixel) / sy],
  };
}

function ticks([low, high]) {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= rough);
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, ix) => (Math.ceil(low / step) + ix) * step);
}

function drawMap() {
  if (!map) return;
  const { canvas, own } = map;
  const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
  if (!width) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const style = getComputedStyle(document.body);
  const ink = (name) => style.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const scale = (map.scale = scaleOf(width, height));
  drawAxes(pen, scale, ink, style.fontFamily);
  pen.save();
  pen.beginPath();
  pen.rect(scale.frame.left, scale.frame.top, scale.frame.right - scale.frame.left, scale.frame.bottom - scale.frame.top);
  pen.clip();
  if (own.is_text) drawBubbles(pen, scale);
  else drawRows(pen, scale, ink);
  drawNumbers(pen, scale, ink, style.fontFamily);
  pen.restore();
  if (map.drag?.to) {
    const [[x, y], [u, v]] = [map.drag.from, map.drag.to];
    pen.strokeStyle = ink("--accent");
    pen.lineWidth = 1;
    pen.strokeRect(x, y, u - x, v - y);
  }
}

function drawAxes(pen, { frame, ranges, x, y }, ink, family) {
  Object.assign(pen, { strokeStyle: ink("--grid"), fillStyle: ink("--soft"), lineWidth: 1, font: `11px ${family}` });
  const line = (...ends) => { pen.beginPath(); pen.moveTo(ends[0], ends[1]); pen.lineTo(ends[2], ends[3]); pen.stroke(); };
  Object.assign(pen, { textAlign: "center", textBaseline: "top" });
  for (const tick of ticks(ranges[0])) { line(x(tick), frame.top, x(tick), frame.bottom); pen.fillText(short(tick), x(tick), frame.bottom + 5); }
  pen.fillText(map.own.axes[0], (frame.left + frame.right) / 2, frame.bottom + 22);
  if (map.own.is_line) return;
  Object.assign(pen, { textAlign: "right", textBaseline: "middle" });
  for (const tick of ticks(ranges[1])) { line(frame.left, y(tick), frame.right, y(tick)); pen.fillText(short(tick), frame.left - 5, y(tick)); }
  pen.save();
  pen.translate(9, (frame.top + frame.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  Object.assign(pen, { textAlign: "center", textBaseline: "middle" });
  pen.fillText(map.own.axes[1], 0, 0);
  pen.restore();
}

const isShown = (number) => !map.hidden.has(entryOf(number));

function drawRows(pen, scale, ink) {
  const { own, cluster, certainty } = map;
  for (let ix = 0; ix < own.x.length; ix += 1) {
    if (!isShown(cluster[ix])) continue;
    pen.globalAlpha = 0.25 + 0.006 * certainty[ix];
    pen.fillStyle = own.colours[cluster[ix]] ?? ink("--soft");
    pen.beginPath();
    pen.arc(scale.x(own.x[ix]), scale.y(own.y[ix]), 2.4, 0, 6.2832);
    pen.fill();
  }
  pen.globalAlpha = 1;
  pen.lineWidth = 1.4;
  own.ellipses.forEach(([, , x, y, first, second, third], ix) => {
    const number = map.ellipses[ix];
    if (!isShown(number)) return;
    pen.strokeStyle = number < own.named ? own.colours[number] : ink("--soft");
    pen.beginPath();
    for (let step = 0; step <= 36; step += 1) {
      const [cos, sin] = [Math.cos, Math.sin].map((turn) => own.radius * turn((Math.PI * step) / 18));
      pen.lineTo(scale.x(x + first * cos), scale.y(y + second * cos + third * sin));
    }
    pen.stroke();
  });
}

const bubbleSize = (number) => 4 + 20 * Math.sqrt(map.rows[number] / map.rows[0]);

function drawBubbles(pen, scale) {
  pen.globalAlpha = 0.65;
  map.centres.forEach(([x, y], number) => {
    if (!isShown(number)) return;
    pen.fillStyle = map.own.colours[number];
    pen.beginPath();
    pen.arc(scale.x(x), scale.y(y), bubbleSize(number), 0, 6.2832);
    pen.fill();
  });
  pen.globalAlpha = 1;
}

function drawNumbers(pen, scale, ink, family) {
  Object.assign(pen, { font: `bold 13px ${family}`, textAlign: "center", textBaseline: "middle", fillStyle: ink("--ink"), strokeStyle: ink("--sheet"), lineWidth: 3, lineJoin: "round" });
  map.centres.slice(0, map.own.named).forEach(([x, y], number) => {
    if (!isShown(number)) return;
    const text = map.names[number] && map.k <= 12 ? nameOf(number) : String(number);
    pen.strokeText(text, scale.x(x), scale.y(y));
    pen.fillText(text, scale.x(x), scale.y(y));
  });
}

function moveOnMap(event) {
  const at = [event.offsetX, event.offsetY];
  if (map.drag) {
    map.drag.to = at;
    drawMap();
    return;
  }
  const text = told(at);
  map.tip.hidden = !text;
  if (!text) return;
  map.tip.textContent = text;
  map.tip.style.left = `${Math.min(at[0] + 14, map.canvas.clientWidth - map.tip.offsetWidth)}px`;
  map.tip.style.top = `${map.canvas.offsetTop + at[1] + 14}px`;
}

// What is under the pointer, in words.
function told(at) {
  const { own, scale } = map;
  const nearest = (n, place, number, reach) => {
    let [best, least] = [-1, Infinity];
    for (let ix = 0; ix < n; ix += 1) {
      const [x, y] = place(ix);
      const distance = Math.hypot(scale.x(x) - at[0], scale.y(y) - at[1]) - reach(ix);
      if (distance < least && isShown(number(ix))) [best, least] = [ix, distance];
    }
    return least < 8 ? best : -1;
  };
  if (own.is_text) {
    const number = nearest(map.centres.length, (ix) => map.centres[ix], (ix) => ix, bubbleSize);
    return number < 0 ? null : `cluster ${nameOf(number)}: ${counted(map.rows[number], "row")}\n${map.words[number]}`;
  }
  const ix = nearest(own.x.length, (ix) => [own.x[ix], own.y[ix]], (ix) => map.cluster[ix], () => 0);
  const place = own.is_line ? short(own.x[ix] ?? 0) : `${short(own.x[ix] ?? 0)}, ${short(own.y[ix] ?? 0)}`;
  return ix < 0 ? null : `row ${own.row[ix].toLocaleString("en-US")}, cluster ${nameOf(map.cluster[ix])}\ncertainty ${map.certainty[ix]} %\n${place}`;
}
