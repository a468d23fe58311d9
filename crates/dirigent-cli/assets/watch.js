"use strict";
// Follows a run: asks how far it is, and when it has moved on puts the new numbers into the page.
const badge = document.querySelector(".live");
let seen = document.body.dataset.version;

async function text(name) {
  const answer = await fetch(name, { cache: "no-store" });
  if (!answer.ok && answer.status !== 503) throw new Error(answer.statusText);
  return answer.ok ? answer.text() : null;
}

async function follow() {
  try {
    const version = await text("version");
    if (version && version !== seen && (await show())) seen = version;
  } catch {
    badge.textContent = seen.startsWith("running") ? "The run has ended or cannot be reached." : "The run has ended.";
    return;
  }
  if (seen.startsWith("running")) setTimeout(follow, 1000);
  else badge.textContent = "The run has ended.";
}

async function show() {
  const html = await text("main");
  if (!html) return false;
  const next = new DOMParser().parseFromString(html, "text/html");
  const headings = (root) => [...root.querySelectorAll("h1, h2, figure h3")].map((heading) => heading.textContent).join("\n");
  if (headings(next) !== headings(document)) {
    for (const part of ["header > :not(.live)", "main"]) replace(part, next);
    await start();
    return true;
  }
  // the same plots with longer curves: what was zoomed into or hidden stays so
  for (const part of [".facts", ".notes", "header p"]) replace(part, next);
  const others = [...next.querySelectorAll("figure[data-plot]")];
  figures.forEach((figure, ix) => {
    figure.original = figure.plot = JSON.parse(next.getElementById(others[ix].dataset.plot).textContent);
    const table = figure.querySelector(".table");
    table?.replaceWith(others[ix].querySelector(".table"));
  });
  for (const choice of document.querySelectorAll(".choice")) choose(choice.parentElement, choice.querySelector("[value=other]").checked);
  return true;
}

function replace(part, next) {
  const olds = document.querySelectorAll(part);
  next.querySelectorAll(part).forEach((item, ix) => olds[ix]?.replaceWith(item));
}

started.then(() => setTimeout(follow, 1000));
